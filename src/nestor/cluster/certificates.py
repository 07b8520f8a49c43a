"""X.509 with EC P-256 keys: authorities and the leaves they sign. Bytes in, bytes out.

EC because generating a key takes less than a millisecond. Keys are written as SEC 1 (`EC PRIVATE KEY`), the only form of EC keys
that both K3s (for its authorities) and kube-apiserver (for `--service-account-key-file`, which accepts private keys) can read.
"""

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

AUTHORITY_LIFETIME = datetime.timedelta(days=3650)
_BACKDATE = datetime.timedelta(hours=1)
"""Node clocks may differ; a certificate must not be valid only in the future."""
KEY_LIMIT, CERTIFICATE_LIMIT = 1024, 8192
"""Bytes as PEM; ours, of all versions, have a few hundred."""
_KEY_HEAD, _CERTIFICATE_HEAD = b"-----BEGIN EC PRIVATE KEY-----", b"-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes

    @cached_property
    def x509(self) -> x509.Certificate:
        """The parsed certificate. Raises `ValueError`."""
        return _read_certificate(self.certificate)

    @cached_property
    def private_key(self) -> ec.EllipticCurvePrivateKey:
        """The parsed key. Raises `ValueError` for anything that is not of the form that we write, without parsing it."""
        _check_form(self.key, _KEY_HEAD, KEY_LIMIT)
        key = serialization.load_pem_private_key(self.key, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"expected an EC key, not {type(key).__name__}")
        return key

    def check(self) -> None:
        """Raises `ValueError` if they are not a certificate and its key."""
        if self.x509.public_key() != self.private_key.public_key():
            raise ValueError("the certificate is not for this key")


def new_key() -> bytes:
    """A fresh EC P-256 key, PEM."""
    return _to_pem(ec.generate_private_key(ec.SECP256R1()))


def new_authority(name: str, now: datetime.datetime) -> Pair:
    """A self-signed authority that may only sign leaves."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
    builder = (
        _builder(subject, subject, key, now, AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
    )
    return Pair(_pem(builder.sign(key, hashes.SHA256())), _to_pem(key))


def new_leaf(
    authority: Pair,
    common_name: str,
    now: datetime.datetime,
    lifetime: datetime.timedelta = datetime.timedelta(days=1),
    *,
    organization: str | None = None,
    hosts: Iterable[str] = (),
) -> Pair:
    """A leaf certificate: for a server if it has `hosts` (DNS names or addresses), otherwise for a client."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(x509.oid.NameOID.ORGANIZATION_NAME, organization)] if organization else []
    subject = x509.Name([*attributes, x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common_name)])
    names = [_general_name(host) for host in hosts]
    purpose = x509.oid.ExtendedKeyUsageOID.SERVER_AUTH if names else x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH
    builder = (
        _builder(subject, authority.x509.subject, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.private_key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Pair(_pem(builder.sign(authority.private_key, hashes.SHA256())), _to_pem(key))


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of the certificate, to detect changes. Raises `ValueError` if it is none."""
    return _read_certificate(certificate).fingerprint(hashes.SHA256()).hex()


def is_issued_by(leaf: Pair, authority: Pair, now: datetime.datetime) -> bool:
    """Whether the authority signed this leaf, its key fits, and it has not expired. Raises `ValueError` if it is none."""
    try:
        leaf.x509.verify_directly_issued_by(authority.x509)
    except exceptions.InvalidSignature:
        return False
    return leaf.x509.public_key() == leaf.private_key.public_key() and now < leaf.x509.not_valid_after_utc


def _read_certificate(content: bytes) -> x509.Certificate:
    _check_form(content, _CERTIFICATE_HEAD, CERTIFICATE_LIMIT)
    return x509.load_pem_x509_certificate(content)


def _check_form(content: bytes, head: bytes, limit: int) -> None:
    """Users can write some Secrets with keys. OpenSSL may check for minutes whether the factors of an RSA key are primes, and
    nothing else runs meanwhile, in no thread.
    """
    if len(content) > limit or not content.startswith(head) or content.count(b"-----BEGIN") > 1:
        raise ValueError(f"expected one PEM block of at most {limit} bytes that begins with {head.decode()}")


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime.datetime, lifetime: datetime.timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    """The usages that K3s documents for its authorities: digitalSignature, keyEncipherment, keyCertSign."""
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=signs,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _to_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
