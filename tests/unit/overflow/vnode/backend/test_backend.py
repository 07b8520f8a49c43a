"""The backend itself: whether it answers, its shapes, its Secrets, the provider that it asks for."""

import asyncio
import base64
import datetime
import json
from typing import Any, cast

import pytest

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.api.overflowbackend import OverflowBackendSpec, Shape
from nestor.cluster import certificates
from nestor.kube import Api, ApiError, kinds
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.remote.provider import RemoteProvider
from nestor.overflow.vnode.backend import factory, health, view
from nestor.overflow.vnode.backend.factory import MissingSecret, Secrets
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.restart import Restart
from nestor.pods.providers import base, errors
from nestor.pods.providers.errors import InvalidInput, Unauthorized, Unreachable
from tests.fakes.api import MemoryApi
from tests.fakes.backend import MemoryBackend
from tests.waiting import comes_true

SPACE = "nestor-system"


def test_a_glitch_is_no_outage() -> None:
    now, told = [0.0], []
    state = Health(lambda: now[0])
    state.on_change(lambda: told.append(state.is_answering))
    assert not state.is_answering
    state.note_answer()
    now[0] = health.GRACE_SECONDS - 1
    state.note_failure(Unreachable("refused"))
    assert state.is_answering
    now[0] = health.GRACE_SECONDS + 1
    state.note_failure(Unauthorized("token expired"))
    assert state.problem == (conditions.UNAUTHORIZED, "token expired")
    assert not state.is_answering
    state.note_answer()
    assert told == [True, False, True]


@pytest.mark.parametrize(
    ("error", "is_answer"),
    [
        (InvalidInput("no such field"), True),
        (errors.NotFound("gone"), True),
        (errors.NotYet("busy"), True),
        # interLink's server answers 500 to everything but pings whether its plugin runs or not.
        (errors.ProviderError("it broke", 500), False),
        (errors.Rejected("no", 504), False),
    ],
)
def test_an_answer_that_we_do_not_like_is_an_answer_and_an_error_of_its_own_is_none(error: Exception, is_answer: bool) -> None:
    state = Health()
    with pytest.raises(type(error)), state.noting():
        raise error
    assert (state.is_known, state.is_answering) == (is_answer, is_answer)


async def test_it_is_checked_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(health, "GRACE_SECONDS", 0.05)
    backend, state, changed = MemoryBackend(), Health(), asyncio.Event()
    state.on_change(changed.set)
    task = asyncio.create_task(health.watch(cast(Any, backend), state))
    for expected in (True, False, True):
        async with asyncio.timeout(10):
            await changed.wait()
        changed.clear()
        assert state.is_answering is expected
        backend.is_down = expected
    task.cancel()


def test_a_slow_backend_is_not_gone() -> None:
    """It may take so long for each answer as its OverflowBackend says."""
    now = [0.0]
    state = Health(lambda: now[0], patience=100)
    state.note_answer()
    now[0] = 110
    assert state.is_answering
    now[0] = 121
    assert not state.is_answering


@pytest.mark.parametrize(("patience", "answers"), [(5.0, True), (0.0, False)])
async def test_a_check_may_take_as_long_as_a_call(monkeypatch: pytest.MonkeyPatch, patience: float, answers: bool) -> None:
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(health, "_MARGIN_SECONDS", 0.01)
    backend, state = MemoryBackend(), Health(patience=patience)
    asked = 0

    async def check() -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.1)

    monkeypatch.setattr(backend, "check", check)
    task = asyncio.create_task(health.watch(cast(Any, backend), state))
    await comes_true(lambda: asked >= 3)
    task.cancel()
    assert state.is_answering is answers


def shape(name: str, **values: Any) -> Shape:
    return Shape.model_validate({"name": name, "capacity": {"cpu": "1"}, **values})


def test_what_is_not_said_any_more_stays() -> None:
    before = [shape("a", capacity={"cpu": "8", "memory": "1Gi"}, taints=[{"key": "old"}]), shape("b", taints=[{"key": "old"}])]
    found, _ = view.read_discovered([base.Shape("a", {"cpu": "4"}), base.Shape("b", {"nvidia.com/gpu": "1"}, taints=[])], before)
    assert [(item.name, dict(item.capacity), [taint.key for taint in item.taints]) for item in found] == [
        ("a", {"cpu": "4", "memory": "1Gi"}, ["old"]),
        ("b", {"cpu": "1", "nvidia.com/gpu": "1"}, []),
    ]


@pytest.mark.parametrize(
    "nonsense",
    [
        base.Shape("UPPER", {"cpu": "1"}),
        base.Shape("x" * 64, {"cpu": "1"}),
        base.Shape("a", {"cpu": "plenty"}),
        base.Shape("a", labels={"k": "not a label!"}),
        base.Shape("a", taints=[{"key": "k", "effect": "Explode"}]),
    ],
)
def test_nonsense_becomes_no_node(nonsense: base.Shape) -> None:
    found, faults = view.read_discovered([nonsense, base.Shape("good", {"cpu": "1"})], [])
    assert [item.name for item in found] == ["good"]
    assert [text.startswith(f"shape '{nonsense.name[:10]}") for text in faults] == [True]


def test_nonsense_about_a_shape_that_is_known_leaves_it_as_it_was() -> None:
    assert view.read_discovered([base.Shape("a", {"cpu": "plenty"})], [shape("a")])[0] == [shape("a")]


def test_there_is_a_limit_to_shapes() -> None:
    assert len(view.read_discovered([base.Shape(f"s{index}", {"cpu": "1"}) for index in range(100)], [])[0]) == 64


@pytest.mark.parametrize(
    ("name", "capacity"), [("a", {"cpu": "1", "pods": "7"}), ("b", {"cpu": "1", "pods": "50"}), ("gone", {"pods": "0"})]
)
def test_capacity_of_a_node(name: str, capacity: Object) -> None:
    known = [shape("a"), shape("b", capacity={"cpu": "1", "pods": "50"})]
    assert view.find_capacity(known, name, 7) == capacity


def put(api: MemoryApi, name: str, **data: str) -> None:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    api.put(kinds.SECRET, {"metadata": {"name": name, "namespace": SPACE}, "data": encoded})


async def load(api: MemoryApi, *names: str) -> Secrets:
    made = Secrets(cast(Api, api), SPACE, names)
    await made.load()
    return made


async def test_a_token_is_read_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "LOOK_SECONDS", 0.01)
    api = MemoryApi()
    put(api, "token", token="one")
    made = await load(api, "token")
    task = asyncio.create_task(made.watch())
    put(api, "token", token="two")
    await comes_true(lambda: made.current("token", "token") == "two")
    assert not task.done()
    task.cancel()


async def test_other_secrets_begin_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "LOOK_SECONDS", 0.01)
    api = MemoryApi()
    put(api, "tls", ca="one")
    made = await load(api, "tls")
    assert made.read("tls", "ca") == "one"
    put(api, "tls", ca="two")
    with pytest.raises(Restart):
        async with asyncio.timeout(10):
            await made.watch()


async def test_what_is_missing_is_named() -> None:
    api = MemoryApi()
    put(api, "there", other="x")
    made = await load(api, "there", "absent")
    for name in ("there", "absent"):
        with pytest.raises(MissingSecret, match=f"key 'token' of Secret '{name}'"):
            made.read(name, "token")


def build_body(**interlink: Any) -> Object:
    spec = {"type": "Interlink", "interlink": {"url": "https://x.example", **interlink}}
    return {"metadata": {"name": "link", "uid": "u"}, "spec": spec}


def read_spec(**interlink: Any) -> OverflowBackendSpec:
    return OverflowBackendSpec.model_validate(build_body(**interlink)["spec"])


async def test_the_provider_has_what_the_backend_says() -> None:
    api = MemoryApi()
    put(api, "oidc", secret="s3cret")
    authority = certificates.new_authority("far", datetime.datetime.now(datetime.UTC)).certificate.decode()
    put(api, "tls", **{"ca.crt": authority})
    tls = {"caRef": {"name": "tls", "key": "ca.crt"}, "serverName": "inner"}
    oidc = {"tokenURL": "https://id.example", "clientID": "me", "clientSecretRef": {"name": "oidc", "key": "secret"}}
    spec = read_spec(
        hop="Plugin", discovery="Peers", peersPath="/peers", oidc=oidc, tls=tls, timeoutSeconds=7, statusPeriodSeconds=3
    )
    made = await load(api, *spec.secret_names())
    assert spec.interlink is not None
    found = cast(InterlinkProvider, factory._build_interlink(spec.interlink, made))._settings
    assert found.own == spec.interlink
    assert (found.client_secret, found.tls.ca, found.limits.call_seconds) == ("s3cret", authority, 7)
    assert (factory.find_period(spec), factory.find_patience(spec)) == (3, 7)


async def test_a_token_that_vanishes_is_a_credential_that_is_not_accepted() -> None:
    api = MemoryApi()
    put(api, "token", token="one")
    spec = read_spec(tokenRef={"name": "token", "key": "token"})
    made = await load(api, "token")
    assert spec.interlink is not None
    bearer = cast(InterlinkProvider, factory._build_interlink(spec.interlink, made))._settings.bearer
    assert bearer is not None
    assert bearer() == "one"
    api.drop(kinds.SECRET, "token", SPACE)
    await made.load()
    with pytest.raises(Unauthorized):
        bearer()


FAR = {
    "server": {
        "url": "https://far.example",
        "tokenRef": {"name": "account", "key": "token"},
        "caRef": {"name": "account", "key": "ca.crt"},
    },
    "namespace": "work",
    "nodeSelector": {"pool": "batch"},
    "shapeLabels": ["kubernetes.io/arch"],
}


def build_far(*, shapes: list[Object] | None = None, **section: Any) -> Object:
    spec: Object = {"type": "Kubernetes", "kubernetes": section or FAR} | ({"shapes": shapes} if shapes is not None else {})
    return {"metadata": {"name": "far", "uid": "far-uid"}, "spec": spec}


async def test_another_cluster_is_what_the_backend_says() -> None:
    api = MemoryApi()
    now = datetime.datetime.now(datetime.UTC)
    authority = certificates.new_authority("far", now).certificate.decode()
    put(api, "account", **{"token": "one\n", "ca.crt": authority})
    body = build_far()
    spec = OverflowBackendSpec.model_validate(body["spec"])
    made = await load(api, *spec.secret_names())
    provider = await factory.build_backend(body, made)
    assert isinstance(provider, RemoteProvider)
    found = provider._settings
    assert (found.backend, found.uid, found.namespace) == ("far", "far-uid", "work")
    assert (found.node_selector, found.shape_labels, found.own_shapes) == ({"pool": "batch"}, ["kubernetes.io/arch"], None)
    cluster = found.access.kubeconfig["clusters"][0]["cluster"]
    assert (cluster["server"], base64.b64decode(cluster["certificate-authority-data"]).decode()) == (
        "https://far.example",
        authority.strip(),
    )
    assert found.access.token is not None
    assert found.access.token() == "one"
    put(api, "account", **{"token": "two", "ca.crt": authority})
    await made.load()
    assert found.access.token() == "two"
    assert "two" in found.access.list_secrets()
    api.drop(kinds.SECRET, "account", SPACE)
    await made.load()
    with pytest.raises(ApiError, match="key 'token' of Secret 'account' is missing"):
        found.access.token()
    assert factory.find_period(spec) == factory.CLUSTER_PERIOD_SECONDS
    await provider.close()


async def test_shapes_of_an_admin_are_machines_by_their_labels() -> None:
    api = MemoryApi()
    put(api, "account", token="one")
    section = FAR | {"server": {"url": "https://far.example", "tokenRef": {"name": "account", "key": "token"}}}
    body = build_far(shapes=[{"name": "gpu", "capacity": {"cpu": "1"}, "labels": {"tier": "gpu"}}], **section)
    provider = await factory.build_backend(body, await load(api, "account"))
    assert isinstance(provider, RemoteProvider)
    assert provider._settings.own_shapes == {"gpu": {"tier": "gpu"}}
    await provider.close()


async def test_a_kubeconfig_is_checked_before_it_is_used() -> None:
    api = MemoryApi()
    body = build_far(kubeconfigRef={"name": "far", "key": "config"})
    with pytest.raises(MissingSecret, match="key 'config' of Secret 'far'"):
        await factory.build_backend(body, await load(api, "far"))
    user = {"name": "u", "user": {"exec": {"command": "sh"}}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    cluster = {"name": "c", "cluster": {"server": "https://far.example"}}
    content = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "c"}
    put(api, "far", config=json.dumps(content))
    with pytest.raises(ValueError, match=r"`user\.exec` may not be set"):
        await factory.build_backend(body, await load(api, "far"))
    user["user"] = {"token": "t"}
    put(api, "far", config=json.dumps(content))
    provider = await factory.build_backend(body, await load(api, "far"))
    assert isinstance(provider, RemoteProvider)
    assert provider._settings.access.token is None
    assert provider._settings.access.list_secrets() == ["t"]
    await provider.close()
