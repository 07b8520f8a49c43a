"""Which certificate requests of virtual nodes are approved. Pure.

Whoever has a node's certificate may read the Secrets of its pods and write their status. So a request is approved only if the
backend's own process made it, for a node of that backend. Requests of others for the same signers are none of our business: the
cluster's own kubelets make them.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cryptography import exceptions, x509

from nestor.api.contracts import vnode
from nestor.api.objects import Object, conditions_of, spec_of, status_of

Answer = Literal["Approve", "Deny", "Wait", "Ignore"]
"""`Wait`: what is missing may be known in a moment."""


@dataclass(frozen=True)
class Known:
    accounts: Mapping[str, str] = field(default_factory=dict)
    """User names of the backends' processes, and the backend of each."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Virtual nodes, and the backend of each."""
    addresses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Addresses of each backend's process."""


@dataclass(frozen=True)
class Verdict:
    answer: Answer
    why: str = ""
    node: str = ""
    """Whose certificate is approved."""
    backend: str = ""


class _Refused(Exception):
    def __init__(self, why: str, answer: Answer = "Deny") -> None:
        super().__init__(why)
        self.verdict = Verdict(answer, why)


def decide_request(request: Object, known: Known) -> Verdict:
    spec = spec_of(request)
    signer, user = spec.get("signerName"), str(spec.get("username", ""))
    if (
        signer not in (vnode.CLIENT_SIGNER, vnode.SERVING_SIGNER)
        or conditions_of(request)
        or status_of(request).get("certificate")
    ):
        return Verdict("Ignore")
    backend = known.accounts.get(user)
    if backend is None:  # nor may a node ask for its own: whoever has stolen a certificate would have it renewed
        return Verdict("Ignore")
    try:
        parsed = _parse(str(spec.get("request", "")))
        node = _read_node(parsed)
        _check_node(node, backend, known)
        _check_lifetime(spec)
        if signer == vnode.CLIENT_SIGNER:
            _check_client(parsed, spec)
        else:
            _check_serving(parsed, spec, node, known.addresses.get(backend, frozenset()))
    except _Refused as refused:
        return refused.verdict
    return Verdict("Approve", f"node '{node}' belongs to backend '{backend}'", node, backend)


def _parse(text: str) -> x509.CertificateSigningRequest:
    if len(text) > vnode.REQUEST_LIMIT:
        raise _Refused(f"the request has more than {vnode.REQUEST_LIMIT} bytes")
    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(text, validate=True))
        is_signed = parsed.is_signature_valid
        list(parsed.extensions)
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm, binascii.Error, x509.DuplicateExtension) as error:
        raise _Refused("it is not a certificate request in PEM") from error
    if not is_signed:
        raise _Refused("its signature is not that of its key")
    return parsed


def _read_node(parsed: x509.CertificateSigningRequest) -> str:
    found = [(item.oid, str(item.value)) for item in parsed.subject]
    names = [value for oid, value in found if oid == x509.oid.NameOID.COMMON_NAME]
    others = [(oid, value) for oid, value in found if oid != x509.oid.NameOID.COMMON_NAME]
    if others != [(x509.oid.NameOID.ORGANIZATION_NAME, vnode.NODE_GROUP)]:
        raise _Refused(f"the subject's only organization must be '{vnode.NODE_GROUP}'")
    if len(names) != 1 or not names[0].startswith(vnode.NODE_USER_PREFIX):
        raise _Refused(f"the subject's common name must be '{vnode.NODE_USER_PREFIX}' and the name of a node")
    return names[0].removeprefix(vnode.NODE_USER_PREFIX)


def _check_node(node: str, backend: str, known: Known) -> None:
    owner = known.nodes.get(node)
    if owner is None:
        raise _Refused(f"there is no virtual node '{node}'", "Wait")
    if owner != backend:
        raise _Refused(f"node '{node}' does not belong to backend '{backend}'")


def _check_lifetime(spec: Object) -> None:
    """Signers give a year to those who name no time."""
    found = spec.get("expirationSeconds")
    if not isinstance(found, int) or found > vnode.CERTIFICATE_SECONDS:
        raise _Refused(f"`expirationSeconds` must be set, to {vnode.CERTIFICATE_SECONDS} at most")


def _check_client(parsed: x509.CertificateSigningRequest, spec: Object) -> None:
    if list(parsed.extensions):
        raise _Refused("a client certificate has no extensions")
    if _usages(spec) not in vnode.CLIENT_USAGES:
        raise _Refused(f"a client certificate is not for {_list(spec)}")


def _check_serving(parsed: x509.CertificateSigningRequest, spec: Object, node: str, addresses: frozenset[str]) -> None:
    if _usages(spec) not in vnode.SERVING_USAGES:
        raise _Refused(f"a serving certificate is not for {_list(spec)}")
    found = list(parsed.extensions)
    if len(found) != 1 or not isinstance(found[0].value, x509.SubjectAlternativeName):
        raise _Refused("its only extension must be the names and addresses that it is for")
    for name in found[0].value:
        if isinstance(name, x509.DNSName):
            if name.value != node:
                raise _Refused(f"'{name.value}' is not the name of the node")
        elif not isinstance(name, x509.IPAddress):
            raise _Refused("only names and addresses are allowed")
        elif str(name.value) not in addresses:
            raise _Refused(f"{name.value} is not an address of the backend's process", "Wait")


def _usages(spec: Object) -> frozenset[str]:
    return frozenset(spec.get("usages") or ())


def _list(spec: Object) -> str:
    return ", ".join(sorted(_usages(spec))) or "nothing"
