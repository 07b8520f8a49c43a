"""Certificate requests: what is asked for, and what the answer means. Pure."""

from __future__ import annotations

import base64
import datetime
import ipaddress
from dataclasses import dataclass
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.api.names import vnode as name_vnode
from nestor.api.objects import Object, conditions_of, spec_of, status_of
from nestor.kube import kinds

LIFETIME_SECONDS = vnode.CERTIFICATE_SECONDS
"""What is asked for; the cluster's signer may give less."""
RENEW_AT = 0.5
"""Renew a certificate after this fraction of its lifetime: who approves it may be away for a while."""
MINIMUM_SECONDS = 60
"""A stored certificate that ends sooner is not used any more."""

Purpose = Literal["client", "serving"]


@dataclass(frozen=True)
class Wish:
    backend: str
    node: str
    purpose: Purpose
    address: str = ""
    """IP address that a serving certificate is for."""

    @property
    def user(self) -> str:
        return vnode.NODE_USER_PREFIX + self.node


@dataclass(frozen=True)
class Answer:
    """What became of a request: a certificate (PEM), a reason why there will be none, or neither yet."""

    certificate: bytes = b""
    refusal: str = ""


def build_request(wish: Wish, key: bytes) -> Object:
    subject = [(x509.oid.NameOID.ORGANIZATION_NAME, vnode.NODE_GROUP), (x509.oid.NameOID.COMMON_NAME, wish.user)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(kind, value) for kind, value in subject])
    )
    if wish.purpose == "serving":
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(wish.address))])
        builder = builder.add_extension(names, critical=False)
    content = builder.sign(_read_key(key), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    usage = "client auth" if wish.purpose == "client" else "server auth"
    return {
        "apiVersion": kinds.CERTIFICATE_REQUEST.api_version,
        "kind": kinds.CERTIFICATE_REQUEST.name,
        "metadata": {
            "generateName": f"{name_vnode(wish.backend)}-",
            "labels": {labels.MANAGED_BY: "nestor", labels.BACKEND: wish.backend},
        },
        "spec": {
            "request": base64.b64encode(content).decode(),
            "signerName": vnode.CLIENT_SIGNER if wish.purpose == "client" else vnode.SERVING_SIGNER,
            "usages": ["digital signature", usage],
            "expirationSeconds": LIFETIME_SECONDS,
        },
    }


def read_answer(request: Object, key: bytes) -> Answer:
    for condition in conditions_of(request):
        if condition["type"] in ("Denied", "Failed"):
            why = condition.get("message") or condition.get("reason") or "no reason given"
            return Answer(refusal=f"{condition['type'].lower()}: {why}")
    content = base64.b64decode(status_of(request).get("certificate") or "")
    if not content:
        return Answer()
    if x509.load_pem_x509_certificate(content).public_key() != _read_key(key).public_key():
        return Answer(refusal="the certificate is for another key")
    return Answer(content)


def describe_wait(request: Object) -> str:
    """Who is awaited while there is no answer."""
    if any(condition["type"] == "Approved" for condition in conditions_of(request)):
        return f"is approved, but signer '{spec_of(request).get('signerName')}' of this cluster has issued no certificate"
    return "was neither approved nor denied"


def find_renewal(content: bytes, wish: Wish, now: datetime.datetime) -> float | None:
    """Seconds until this certificate is to be renewed (0: now). None: it is not, or no longer, what is wished for."""
    try:
        certificate = x509.load_pem_x509_certificate(content)
        key = _read_key(content)
    except (ValueError, TypeError):
        return None
    names = [str(item.value) for item in certificate.subject.get_attributes_for_oid(x509.oid.NameOID.COMMON_NAME)]
    is_ours = names == [wish.user] and certificate.public_key() == key.public_key() and _find_addresses(certificate, wish)
    left = (certificate.not_valid_after_utc - now).total_seconds()
    if not is_ours or left < MINIMUM_SECONDS or now < certificate.not_valid_before_utc:
        return None
    whole = (certificate.not_valid_after_utc - certificate.not_valid_before_utc).total_seconds()
    return max(0.0, left - (1 - RENEW_AT) * whole)


def _find_addresses(certificate: x509.Certificate, wish: Wish) -> bool:
    if wish.purpose == "client":
        return True
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return ipaddress.ip_address(wish.address) in found.get_values_for_type(x509.IPAddress)


def _read_key(content: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(content, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"expected an EC key, not {type(key).__name__}")
    return key
