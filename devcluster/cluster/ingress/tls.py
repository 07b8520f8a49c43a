"""Which certificate each host is served with over TLS, and why a host is not. Pure."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

Object = Mapping[str, Any]

CURVES = ("secp256r1", "secp384r1", "secp521r1")
RSA_BITS = 2048
KEYS = f"RSA of at least {RSA_BITS} bits, ECDSA on P-256, P-384 or P-521, or Ed25519"


class Unusable(ValueError):
    """A Secret with which nothing can be served; the message says why."""


@dataclass(frozen=True)
class Certificate:
    """A key pair as PEM text, and the DNS names that the certificate is for."""

    chain: str
    key: str = field(repr=False)
    names: tuple[str, ...]

    def is_for(self, host: str) -> bool:
        """Whether it covers a host, or a wildcard of hosts."""
        return any(matches(name, host) for name in self.names)


@dataclass(frozen=True)
class Problem:
    """A host that an Ingress wants served over TLS, and that is served without."""

    namespace: str
    ingress: str
    uid: str
    message: str


@dataclass(frozen=True)
class Tls:
    """The answer: a certificate for each host that can be served over TLS, and what is in the way of the others."""

    certificates: dict[str, Certificate] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def build(ingresses: Iterable[Object], secrets: Iterable[Object]) -> Tls:
    """Certificates for the hosts of Ingresses, given in the order of their rights: the first usable one keeps a host.

    `secrets` are those of type `kubernetes.io/tls`. An entry without hosts speaks for all hosts of the Ingress's rules.
    """
    known = {_key(secret): secret for secret in secrets}
    certificates: dict[str, Certificate] = {}
    problems: list[Problem] = []
    for ingress in ingresses:
        for host, name in _wanted(ingress):
            try:
                certificates.setdefault(host, _certificate(known, ingress["metadata"]["namespace"], name, host))
            except Unusable as reason:
                problems.append(_problem(ingress, f"{reason}; {host} is served without TLS"))
    return Tls(certificates, tuple(dict.fromkeys(problems)))


def parse(secret: Object) -> Certificate:
    """The certificate of a Secret. Raises `Unusable`: what cannot be served must not stop what can."""
    data = secret.get("data") or {}
    chain, key = _decode(data, "tls.crt"), _decode(data, "tls.key")
    try:
        leaf = x509.load_pem_x509_certificates(chain.encode())[0]
        names = _dns_names(leaf)
    except (ValueError, IndexError):
        raise Unusable("'tls.crt' is not a PEM certificate") from None
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Unusable("'tls.key' is not an unencrypted PEM private key") from None
    if not _is_usable(private):
        raise Unusable(f"the key in 'tls.key' is of another kind than {KEYS}")
    if _public(private.public_key()) != _public(leaf.public_key()):
        raise Unusable("'tls.key' is not the key of the certificate in 'tls.crt'")
    return Certificate(chain, key, names)


def matches(pattern: str, host: str) -> bool:
    """Whether a name or wildcard (`*.example.com`: exactly one more element) covers a host or the same wildcard."""
    pattern, host = pattern.lower(), host.lower()
    return pattern == host or (pattern.startswith("*.") and "." in host and pattern[2:] == host.split(".", 1)[1])


def _wanted(ingress: Object) -> Iterator[tuple[str, str]]:
    """Hosts with the names of their Secrets; the name may be empty."""
    rules = [rule["host"] for rule in ingress["spec"].get("rules") or () if rule.get("host")]
    for entry in ingress["spec"].get("tls") or ():
        for host in dict.fromkeys(entry.get("hosts") or rules):
            yield host, entry.get("secretName") or ""


def _certificate(secrets: Mapping[tuple[str, str], Object], namespace: str, name: str, host: str) -> Certificate:
    if not name:
        raise Unusable("the Ingress names no Secret for it")
    secret = secrets.get((namespace, name))
    if secret is None:
        raise Unusable(f"Secret '{name}' does not exist, or is not of type kubernetes.io/tls")
    try:
        found = parse(secret)
    except Unusable as reason:
        raise Unusable(f"Secret '{name}': {reason}") from None
    if not found.is_for(host):
        raise Unusable(f"Secret '{name}': its certificate is for {', '.join(found.names) or 'no DNS name'}")
    return found


def _decode(data: Object, key: str) -> str:
    try:
        return base64.b64decode(data.get(key) or "", validate=True).decode()
    except ValueError:
        raise Unusable(f"'{key}' is not text") from None


def _dns_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()  # a common name alone is no host name to any client of today
    return tuple(names.get_values_for_type(x509.DNSName))


def _is_usable(key: object) -> bool:
    """Whether the proxy can serve with the key; one that it cannot load makes it refuse the whole table."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.key_size >= RSA_BITS
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.curve.name in CURVES
    return isinstance(key, ed25519.Ed25519PrivateKey)


def _public(key: Any) -> bytes:
    raw: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return raw


def _problem(ingress: Object, message: str) -> Problem:
    meta = ingress["metadata"]
    return Problem(meta["namespace"], meta["name"], meta.get("uid") or "", message)


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]
