"""The certificates of this process: one for each node that it acts as, and one for its kubelet API.

They are asked for by CertificateSigningRequests as this process's ServiceAccount, and approved by the operator; stored, and
renewed before they end.
"""

import asyncio
import base64
import datetime
import ipaddress
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from nestor.api import labels, times
from nestor.api.contracts import vnode
from nestor.api.names import vnode as name_vnode
from nestor.api.objects import Object, conditions_of, spec_of, status_of
from nestor.cluster.certificates import new_key
from nestor.kube import Api, ApiError, kinds

log = logging.getLogger(__name__)

WAIT_SECONDS = 120.0
"""How long a request may stay unanswered before another one is made."""
NOTICE_SECONDS = 30.0
"""How long there may be none before that is told: some clouds sign for their own machines only."""
LOOK_SECONDS = 0.5
RETRY_SECONDS = (5.0, 300.0)
"""Pause after a failure; doubled each time, up to the second number: each request stays in the cluster for a while."""

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


class Certificate:
    """A certificate and its key in one file, and why there is none if so. `api` is this process's own client."""

    def __init__(self, api: Api, wish: Wish, folder: Path, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called whenever `is_lacking` changes."""
        self._api = api
        self._on_change = on_change
        self._wish = wish
        self.file = folder / f"{wish.purpose}-{wish.node}.pem"
        self._what = f"the {wish.purpose} certificate of node '{wish.node}'"
        self.problem = f"{self._what} was not issued yet"
        """Empty once it is there."""
        self.is_lacking = False
        """There is none, and the cluster takes long over it, or refuses it; `problem` says why."""
        self._begin = time.monotonic()
        self._renewal: float | None = None

    async def obtain(self) -> None:
        """Wait until there is a valid one: the stored one, which a new container finds again, or a new one."""
        self._renewal = self._read()
        if self._renewal is None:
            await self._renew()

    async def keep(self, on_renewal: Callable[[], Awaitable[None]]) -> None:
        """Renew it in time until cancelled; `on_renewal` is called each time. Call `obtain` first."""
        while True:
            due = self._read()
            await asyncio.sleep((due or 0) * random.uniform(0.9, 1.0))
            await self._renew()
            await on_renewal()

    def discard(self) -> None:
        """The cluster does not accept what it has issued: the next process asks for all certificates anew."""
        for file in self.file.parent.glob("*.pem"):
            file.unlink(missing_ok=True)

    async def _renew(self) -> None:
        """Ask until there is a new one."""
        pause = RETRY_SECONDS[0]
        while not await self._try():
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_SECONDS[1])

    async def _try(self) -> bool:
        try:
            answer = await self._request()
            why = answer.refusal
        except (ApiError, ValueError, TypeError) as error:
            answer, why = Answer(), str(error)
        self._renewal = self._read()
        if answer.certificate and self._renewal is not None:
            return True
        why = why or "the signer gave another one than was asked for"
        log.warning("%s: %s", self._what, why)
        if self._renewal is None:
            self._lack(why)
        return False

    async def _request(self) -> Answer:
        key, what = new_key(), ""
        made = await self._api.create(kinds.CERTIFICATE_REQUEST, build_request(self._wish, key))
        name = made["metadata"]["name"]
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while True:
                    found = await self._api.get(kinds.CERTIFICATE_REQUEST, name)
                    answer, what = read_answer(found, key), f"request {name} {describe_wait(found)}"
                    if answer.certificate or answer.refusal:
                        break
                    if self._renewal is None:
                        self._lack(what)
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return Answer(refusal=what or f"request {name} cannot be read")
        if answer.certificate:
            self._store(answer.certificate + key)
        return answer

    def _read(self) -> float | None:
        try:
            found = find_renewal(self.file.read_bytes(), self._wish, times.now())
        except OSError:
            return None
        if found is not None:
            was_lacking, self.problem, self.is_lacking = self.is_lacking, "", False
            if was_lacking:
                self._on_change()
        return found

    def _lack(self, why: str) -> None:
        self.problem = f"{self._what}: {why}"
        if not self.is_lacking and time.monotonic() - self._begin > NOTICE_SECONDS:
            self.is_lacking = True
            self._on_change()

    def _store(self, content: bytes) -> None:
        """At once or not at all, and readable by nobody else."""
        fresh = self.file.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
        fresh.replace(self.file)


def describe_lacking(certificates: Iterable[Certificate]) -> str:
    """What the cluster does not issue, as far as it is known; empty if it issues all."""
    return "; ".join(item.problem for item in certificates if item.is_lacking)


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
