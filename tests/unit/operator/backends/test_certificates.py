"""Which certificate requests are approved: those of a backend's own process, for its own nodes, and no others."""

import base64
import ipaddress
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nestor.api.contracts import vnode
from nestor.api.objects import Object
from nestor.operator.backends.certificates import Known, decide_request
from nestor.operator.backends.process import account_of

KEY = ec.generate_private_key(ec.SECP256R1())
CLIENT = ["digital signature", "client auth"]
SERVING = ["digital signature", "server auth"]
OWN, OTHERS = account_of("link", "nestor-system"), account_of("other", "nestor-system")
KNOWN = Known(
    accounts={OWN: "link", OTHERS: "other"},
    nodes={"link": "link", "link-gpu": "link", "other": "other"},
    addresses={"link": frozenset({"10.1.2.3", "fd00::3"})},
)
ADDRESS = x509.IPAddress(ipaddress.ip_address("10.1.2.3"))
NAME = x509.DNSName("link")


def subject(name: str = "system:node:link", *organizations: str, **more: str) -> x509.Name:
    found = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, item) for item in organizations or ("system:nodes",)]
    found += [x509.NameAttribute(getattr(NameOID, key), value) for key, value in more.items()]
    return x509.Name([*found, x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else found)


def sign(who: x509.Name, *sans: x509.GeneralName, ca: bool = False) -> bytes:
    """A request as a process writes it."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(who)
    if sans:
        builder = builder.add_extension(x509.SubjectAlternativeName(sans), critical=False)
    if ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def build(
    request: bytes | str, *, user: str = OWN, signer: str = vnode.CLIENT_SIGNER, usages: list[str] | None = None, **status: Any
) -> Object:
    """A CertificateSigningRequest as the API server has it."""
    text = request if isinstance(request, str) else base64.b64encode(request).decode()
    usages = usages if usages is not None else CLIENT if signer == vnode.CLIENT_SIGNER else SERVING
    spec: Object = {"request": text, "signerName": signer, "usages": usages, "username": user}
    spec["expirationSeconds"] = status.pop("seconds", vnode.CERTIFICATE_SECONDS)
    return {"metadata": {"name": "csr"}, "spec": spec, "status": status}


def serving(*sans: x509.GeneralName, who: x509.Name | None = None, **more: Any) -> Object:
    return build(sign(who or subject(), *sans), signer=vnode.SERVING_SIGNER, **more)


APPROVED = {
    "client": build(sign(subject())),
    "client of another shape": build(sign(subject("system:node:link-gpu"))),
    "client with an RSA key": build(sign(subject()), usages=["key encipherment", *CLIENT]),
    "serving by address": serving(ADDRESS),
    "serving by address and name": serving(NAME, ADDRESS, x509.IPAddress(ipaddress.ip_address("fd00::3"))),
    "serving with an RSA key": serving(ADDRESS, usages=["key encipherment", *SERVING]),
}
IGNORED = {
    "of a kubelet": build(sign(subject("system:node:worker-1")), user="system:bootstrap:abc"),
    "of a real node": serving(ADDRESS, user="system:node:worker-1", who=subject("system:node:worker-1")),
    "of another account in the namespace": build(sign(subject()), user="system:serviceaccount:nestor-system:nestor"),
    "of a like-named account elsewhere": build(sign(subject()), user=account_of("link", "team-a")),
    "of a node, to be a client": build(sign(subject()), user="system:node:link"),
    "of a node, to be a server": serving(NAME, ADDRESS, user="system:node:link"),
    "of another node": serving(ADDRESS, user="system:node:link-gpu"),
    "for another signer": build(sign(subject()), signer="kubernetes.io/kube-apiserver-client"),
    "for no signer": build(sign(subject()), signer=""),
    "approved already": build(sign(subject()), conditions=[{"type": "Approved"}]),
    "denied already": build(sign(subject()), conditions=[{"type": "Denied"}]),
    "signed already": build(sign(subject()), certificate="x"),
    "without a spec": {"metadata": {"name": "csr"}},
}
WAITING = {
    "a node that is not known yet": build(sign(subject("system:node:link-new"))),
    "an address that is not known yet": serving(x509.IPAddress(ipaddress.ip_address("10.1.2.4"))),
}
DENIED = {
    "another backend's node": (build(sign(subject("system:node:other"))), "node 'other' does not belong to backend 'link'"),
    "no node": (build(sign(subject("admin"))), "common name must be"),
    "no name": (build(sign(subject(""))), "common name must be"),
    "masters": (build(sign(subject("system:node:link", "system:masters"))), "only organization must be"),
    "masters too": (build(sign(subject("system:node:link", "system:nodes", "system:masters"))), "only organization must be"),
    "no group": (build(sign(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "system:node:link")]))), "only organization"),
    "more in the subject": (build(sign(subject(COUNTRY_NAME="DE"))), "only organization must be"),
    "a client with a name": (build(sign(subject(), NAME)), "a client certificate has no extensions"),
    "a client that is an authority": (build(sign(subject(), ca=True)), "a client certificate has no extensions"),
    "a client that serves": (build(sign(subject()), usages=SERVING), "not for digital signature, server auth"),
    "a client for everything": (build(sign(subject()), usages=["any"]), "not for any"),
    "a client for nothing": (build(sign(subject()), usages=[]), "not for nothing"),
    "a server that is a client": (serving(ADDRESS, usages=CLIENT), "a serving certificate is not for"),
    "a server that is both": (serving(ADDRESS, usages=[*SERVING, "client auth"]), "a serving certificate is not for"),
    "a server without a name": (serving(), "its only extension must be"),
    "a server that is an authority": (
        build(sign(subject(), ADDRESS, ca=True), signer=vnode.SERVING_SIGNER),
        "its only extension must be",
    ),
    "another's name": (serving(x509.DNSName("kubernetes.default.svc"), ADDRESS), "is not the name of the node"),
    "any name": (serving(x509.DNSName("*"), ADDRESS), "is not the name of the node"),
    "another node's name": (serving(x509.DNSName("link-gpu"), ADDRESS), "is not the name of the node"),
    "a mail address": (serving(x509.RFC822Name("a@b.test")), "only names and addresses"),
    "a URI": (serving(x509.UniformResourceIdentifier("spiffe://a/b")), "only names and addresses"),
    "nonsense": (build("%%%"), "it is not a certificate request in PEM"),
    "empty": (build(""), "it is not a certificate request in PEM"),
    "binary": (build(b"\x00\xff"), "it is not a certificate request in PEM"),
    "too large": (build(base64.b64encode(b"x" * vnode.REQUEST_LIMIT).decode()), "more than"),
    "cut short": (build(sign(subject())[:-80]), "it is not a certificate request in PEM"),
    "for a week": (build(sign(subject()), seconds=7 * 86400), "`expirationSeconds` must be set, to 86400 at most"),
    "for as long as the signer likes": (build(sign(subject()), seconds=None), "`expirationSeconds` must be set"),
    "a server for a year": (serving(ADDRESS, seconds=365 * 86400), "`expirationSeconds` must be set"),
}


@pytest.mark.parametrize("request_", APPROVED.values(), ids=APPROVED)
def test_what_the_process_needs_is_approved(request_: Object) -> None:
    found = decide_request(request_, KNOWN)
    assert (found.answer, "belongs to backend 'link'" in found.why) == ("Approve", True)


@pytest.mark.parametrize("request_", IGNORED.values(), ids=IGNORED)
def test_what_others_ask_for_is_left_to_others(request_: Object) -> None:
    assert decide_request(request_, KNOWN).answer == "Ignore"


@pytest.mark.parametrize("request_", WAITING.values(), ids=WAITING)
def test_what_may_be_known_soon_is_waited_for(request_: Object) -> None:
    found = decide_request(request_, KNOWN)
    assert found.answer == "Wait"
    assert found.why


@pytest.mark.parametrize(("request_", "why"), DENIED.values(), ids=DENIED)
def test_anything_else_is_denied_with_a_reason(request_: Object, why: str) -> None:
    found = decide_request(request_, KNOWN)
    assert found.answer == "Deny"
    assert why in found.why


def test_a_forged_signature_is_denied() -> None:
    """Somebody else's request with another subject in it."""
    whole = x509.load_pem_x509_csr(sign(subject())).public_bytes(serialization.Encoding.DER)
    forged = whole.replace(b"system:node:link", b"system:node:lonk")
    assert forged != whole
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(forged) + b"-----END CERTIFICATE REQUEST-----\n"
    known = Known(accounts=KNOWN.accounts, nodes={"lonk": "link"})
    found = decide_request(build(pem), known)
    assert (found.answer, found.why) == ("Deny", "its signature is not that of its key")
