"""Certificates by CertificateSigningRequest: asked for, awaited, stored, renewed."""

import asyncio
import base64
import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from nestor.api import labels, times
from nestor.api.contracts import vnode
from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.kube import Api, ApiError, Kind
from nestor.overflow.vnode import identity
from nestor.overflow.vnode.identity import Certificate, Wish, describe_lacking
from tests.fakes.api import MemoryApi
from tests.waiting import comes_true

CLIENT = Wish("gpu", "gpu-a100", "client")
SERVING = Wish("gpu", "gpu-a100", "serving", "10.0.0.7")
AUTHORITY = certificates.new_authority("signer", times.now())


def read(body: Object) -> x509.CertificateSigningRequest:
    return x509.load_pem_x509_csr(base64.b64decode(body["spec"]["request"]))


def sign(body: Object, *, days: float = 7, ago: float = 0, names: bool = True) -> bytes:
    asked, begin = read(body), times.now() - datetime.timedelta(days=ago)
    builder = (
        x509.CertificateBuilder()
        .subject_name(asked.subject)
        .issuer_name(AUTHORITY.x509.subject)
        .public_key(asked.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - datetime.timedelta(minutes=5))
        .not_valid_after(begin + datetime.timedelta(days=days))
    )
    for extension in asked.extensions if names else ():
        builder = builder.add_extension(extension.value, critical=False)
    return builder.sign(AUTHORITY.private_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


class Signer(MemoryApi):
    """Keeps requests; `answer` makes the status of one."""

    answer: Any = staticmethod(lambda body: {"certificate": base64.b64encode(sign(body)).decode()})

    @property
    def made(self) -> list[Object]:
        return list(self.objects.values())

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        found = await super().get(kind, name, namespace)
        return found | {"status": self.answer(found)}


@pytest.fixture
def signer(monkeypatch: pytest.MonkeyPatch) -> Signer:
    monkeypatch.setattr(identity, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(identity, "RETRY_SECONDS", (0.01, 0.02))
    return Signer()


def make(signer: Signer, folder: Path, wish: Wish = CLIENT) -> Certificate:
    return Certificate(cast(Api, signer), wish, folder)


@pytest.mark.parametrize(
    ("wish", "signer_name", "usages"),
    [(CLIENT, vnode.CLIENT_SIGNER, vnode.CLIENT_USAGES), (SERVING, vnode.SERVING_SIGNER, vnode.SERVING_USAGES)],
)
def test_a_request_is_what_the_operator_approves(wish: Wish, signer_name: str, usages: Any) -> None:
    body = identity.build_request(wish, certificates.new_key())
    asked = read(body)
    subject = [(item.oid, item.value) for item in asked.subject]
    assert subject == [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, "system:node:gpu-a100")]
    assert body["spec"]["signerName"] == signer_name
    assert frozenset(body["spec"]["usages"]) in usages
    assert len(body["spec"]["request"]) < vnode.REQUEST_LIMIT
    assert body["metadata"]["labels"][labels.BACKEND] == "gpu"
    names = [item.value for item in asked.extensions]
    assert [str(address) for item in names for address in cast(Any, item).get_values_for_type(x509.IPAddress)] == (
        ["10.0.0.7"] if wish is SERVING else []
    )


@pytest.mark.parametrize("wish", [CLIENT, SERVING])
async def test_it_is_obtained_and_stored_for_nobody_else(signer: Signer, tmp_path: Path, wish: Wish) -> None:
    made = make(signer, tmp_path, wish)
    assert "not issued yet" in made.problem
    await made.obtain()
    assert made.problem == ""
    assert made.file.stat().st_mode & 0o777 == 0o600
    assert identity.find_renewal(made.file.read_bytes(), wish, times.now()) == pytest.approx(0.5 * 7 * 86400, rel=0.01)


async def test_a_new_container_has_the_stored_one(signer: Signer, tmp_path: Path) -> None:
    await make(signer, tmp_path).obtain()
    await make(signer, tmp_path).obtain()
    assert len(signer.made) == 1


async def test_of_a_cluster_that_has_refused_one_none_is_used_again(signer: Signer, tmp_path: Path) -> None:
    """Its authorities were replaced, and others see the one for the kubelet API."""
    made = make(signer, tmp_path)
    await made.obtain()
    await make(signer, tmp_path, SERVING).obtain()
    made.discard()
    made.discard()
    for wish in (CLIENT, SERVING):
        await make(signer, tmp_path, wish).obtain()
    assert len(signer.made) == 4


@pytest.mark.parametrize(
    ("stored", "now"), [(Wish("gpu", "other", "client"), 0), (CLIENT, 8), (Wish("gpu", "gpu-a100", "serving", "10.0.0.8"), 0)]
)
async def test_one_that_does_not_fit_is_not_used(signer: Signer, stored: Wish, now: float) -> None:
    key = certificates.new_key()
    content = sign(identity.build_request(stored, key)) + key
    wish = SERVING if stored.purpose == "serving" else CLIENT
    assert identity.find_renewal(content, wish, times.now() + datetime.timedelta(days=now)) is None
    assert identity.find_renewal(content, stored, times.now()) is not None


@pytest.mark.parametrize("content", [b"", b"nonsense", certificates.new_key()], ids=["empty", "nonsense", "key-alone"])
def test_a_torn_file_is_not_used(content: bytes) -> None:
    assert identity.find_renewal(content, CLIENT, times.now()) is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"conditions": [{"type": "Denied", "message": "not a node of the backend"}]}, "denied: not a node of the backend"),
        ({"conditions": [{"type": "Failed", "reason": "SignerValidation"}]}, "failed: SignerValidation"),
        ({}, "neither approved nor denied"),
        (ApiError(403, "Forbidden", "may not create certificatesigningrequests"), "may not create"),
    ],
)
async def test_it_says_why_there_is_none_and_asks_again(
    signer: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Object | ApiError, words: str
) -> None:
    monkeypatch.setattr(identity, "WAIT_SECONDS", 0.05)
    good, signer.answer = signer.answer, lambda _: answer
    signer.fault = lambda *_: answer if isinstance(answer, ApiError) else None
    made = make(signer, tmp_path)
    task = asyncio.create_task(made.obtain())
    await comes_true(lambda: words in made.problem and (isinstance(answer, ApiError) or len(signer.made) >= 2))
    signer.answer, signer.fault = good, lambda *_: None
    await task
    assert made.problem == ""


async def test_a_signer_that_stays_silent_is_told_while_it_is_waited_for(
    signer: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at once: signers take a moment, and our rights are made at the same time as this process."""
    told: list[bool] = []
    good = signer.answer
    signer.answer = lambda _: {"conditions": [{"type": "Approved"}]}
    made = Certificate(cast(Api, signer), SERVING, tmp_path, lambda: told.append(made.is_lacking))
    task = asyncio.create_task(made.obtain())
    await comes_true(lambda: "is approved, but signer" in made.problem)
    assert describe_lacking([made]) == ""
    monkeypatch.setattr(identity, "NOTICE_SECONDS", 0.0)
    await comes_true(lambda: made.is_lacking)
    assert len(signer.made) == 1
    assert describe_lacking([made]) == made.problem
    assert "the serving certificate of node 'gpu-a100': request vnode-gpu-0 is approved" in made.problem
    signer.answer = good
    await task
    assert (made.problem, made.is_lacking, told) == ("", False, [True, False])


async def test_a_certificate_for_another_key_is_not_taken(signer: Signer, tmp_path: Path) -> None:
    foreign = sign(identity.build_request(CLIENT, certificates.new_key()))
    answer = identity.read_answer({"status": {"certificate": base64.b64encode(foreign).decode()}}, certificates.new_key())
    assert answer.refusal
    assert not answer.certificate


async def test_it_is_renewed_before_it_ends(signer: Signer, tmp_path: Path) -> None:
    good, signer.answer = signer.answer, lambda body: {"certificate": base64.b64encode(sign(body, days=10, ago=9)).decode()}
    made = make(signer, tmp_path)
    await made.obtain()
    before = made.file.read_bytes()
    signer.answer = good
    renewed = asyncio.Event()

    async def on_renewal() -> None:
        renewed.set()

    task = asyncio.create_task(made.keep(on_renewal))
    async with asyncio.timeout(20):
        await renewed.wait()
    task.cancel()
    assert made.file.read_bytes() != before
    assert len(signer.made) == 2


async def test_the_old_one_serves_while_it_cannot_be_renewed(signer: Signer, tmp_path: Path) -> None:
    signer.answer = lambda body: {"certificate": base64.b64encode(sign(body, days=10, ago=9)).decode()}
    made = make(signer, tmp_path)
    await made.obtain()
    before = made.file.read_bytes()
    signer.answer = lambda _: {"conditions": [{"type": "Denied", "message": "no"}]}

    async def on_renewal() -> None:
        raise AssertionError

    task = asyncio.create_task(made.keep(on_renewal))
    await comes_true(lambda: len(signer.made) >= 4)
    task.cancel()
    assert made.problem == ""
    assert made.file.read_bytes() == before
