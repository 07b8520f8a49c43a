"""What a running pair of pods brings up and takes down."""

import contextlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.placement import GpuPlace, OverflowMode, Placement
from nestor.api.policy import Policy
from nestor.kube import Api, ApiError, Kind, RetryLater, kinds
from nestor.pods.providers.base import Part
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, ProviderError
from nestor.pods.translate import pod as translate
from nestor.pods.translate.labels import host_key
from nestor.syncer import limits
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.sync import PodSyncer
from tests.fakes.api import MemoryApi
from tests.fakes.host import MemoryHost
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import build_context


class Refusing(MemoryHost):
    """Answers every patch with an error, or those of one part."""

    def __init__(self, error: ProviderError, *pods: Object, only: Part | None = None) -> None:
        super().__init__(*pods)
        self.error: ProviderError | None = error
        self._only = only

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        if self.error and self._only in (None, part):
            raise self.error
        await super().patch(pod, patch, part)


class NestedApi(MemoryApi):
    async def create(self, kind: Kind, body: Object, *, subresource: str | None = None, **named: Any) -> Object:
        if subresource != "binding":
            return await super().create(kind, body, subresource=subresource, **named)
        self.asked.append(f"POST {kind.plural} {body['metadata']['namespace']}/{named['name']}")
        return body


def build(
    nested: Object,
    provider: MemoryHost,
    total: int = 0,
    *,
    policy: Policy | None = None,
    nodes: dict[str, dict[str, str]] | None = None,
    is_cached: bool = True,
    isolation: Any = None,
) -> tuple[PodSyncer, MemoryApi]:
    """A syncer of one nested pod. `nodes`: those of the host, by their labels."""
    api, host = NestedApi(), MemoryApi()
    api.put(kinds.POD, nested)
    made = {name: host.put(kinds.NODE, {"metadata": {"name": name, "labels": own}}) for name, own in (nodes or {}).items()}
    context = build_context(host, api)
    context.caches._policy, context.caches.copied_bytes.value = policy or Policy(), total
    for name, node in made.items() if is_cached else ():
        context.caches.host_nodes._set(("", name), node)

    async def ensure_node(name: str) -> None:
        api.asked.append(f"node {name}")

    return PodSyncer(context, provider, ensure_node, Gangs(context), isolation or Isolation(context)), api


def read_events(api: MemoryApi) -> list[str]:
    return [item["message"] for item in api.every("events")]


CLOSED: Any = SimpleNamespace(find=lambda _: {labels.ISOLATED_INGRESS: "true", labels.ISOLATED_EGRESS: "true"})
"""Policies that isolate every pod."""


def build_host(nested: Object, policy: Policy) -> Object:
    host: Object = translate.build_pod(nested, TARGET, {}, policy)
    host["metadata"] |= {"uid": "host-uid", "resourceVersion": "1"}
    return host


def build_pair() -> tuple[Object, Object]:
    """A nested pod whose label has changed, and its host pod as it was made before."""
    before, nested = build_pod(labels={"color": "red"}), build_pod(labels={"color": "blue"})
    return nested, build_host(before, Policy())


SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}


async def test_a_binding_is_made_once_and_its_condition_is_left_to_the_nested_server() -> None:
    nested, host = build_pair()
    host["spec"]["nodeName"] = "n"
    host["status"] = {"phase": "Pending", "conditions": [SCHEDULED]}
    nested["status"] = {"phase": "Pending"}
    syncer, api = build(nested, MemoryHost(host))
    await syncer.sync(nested, host)
    assert api.asked == ["node n", "POST pods shop/web"]
    await syncer.sync(nested, host)  # the cache has not heard of it yet
    assert [item for item in api.asked if item != "node n"] == ["POST pods shop/web"]
    later = SCHEDULED | {"lastTransitionTime": "2020-01-01T00:00:07Z"}
    bound = nested | {"spec": nested["spec"] | {"nodeName": "n"}, "status": {"phase": "Pending", "conditions": [later]}}
    await syncer.sync(bound, host)
    assert [item for item in api.asked if item != "node n"] == ["POST pods shop/web"]
    host["status"] = {"phase": "Running", "conditions": [SCHEDULED, {"type": "Ready", "status": "True"}]}
    await syncer.sync(bound, host)
    assert api.asked[-1] == "PATCH pods shop/web/status"
    assert api.bodies[-1]["status"] == {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


RULES = read(Placement, {"overflow": {"backends": [{"name": "hpc"}, {"name": "aci", "nodeSelector": {"type": "aci"}}]}})
PRICY = build_pod(container={"resources": {"limits": {"nvidia.com/gpu": 1}}})


@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize(
    ("nested", "mode", "gpu", "node", "told"),
    [
        (build_pod(), "WhenFull", "Any", {labels.BACKEND: "hpc"},
         ["of backend 'hpc': no node of the host cluster could take it"]),
        # Room is not the only reason why no other node could.
        (build_pod(nodeSelector={labels.BACKEND: "hpc"}), "WhenFull", "Any", {labels.BACKEND: "hpc"},
         ["of backend 'hpc': no node of the host cluster could take it"]),
        (build_pod(), "Always", "Any", {"type": "aci"}, ["of backend 'aci': the rules send all pods there"]),
        (PRICY, "WhenFull", "Backend", {labels.BACKEND: "hpc"}, ["of backend 'hpc': it requests 'nvidia.com/gpu'"]),
        (build_pod(), "WhenFull", "Any", {"type": "plain"}, []),
        (build_pod(), "Never", "Any", {"type": "plain"}, []),
    ],
)  # fmt: skip
async def test_a_pod_that_has_overflowed_says_where_and_why(
    nested: Object, mode: OverflowMode, gpu: GpuPlace, node: dict[str, str], told: list[str], is_cached: bool
) -> None:
    overflow = replace(RULES.overflow, mode=mode, gpu=gpu) if RULES.overflow else None
    policy = Policy(placement=replace(RULES, overflow=overflow))
    host = build_host(nested, policy)
    host["spec"]["nodeName"] = "n"
    syncer, api = build(nested, MemoryHost(host), policy=policy, nodes={"n": node}, is_cached=is_cached)
    await syncer.sync(nested, host)
    assert read_events(api) == [f"runs on node 'n' {text}" for text in told]


LOST = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize(
    ("node", "seconds"), [({labels.BACKEND: "hpc"}, 3600), ({"type": "aci"}, 3600), ({"type": "plain"}, 300), (None, 300)]
)
async def test_a_pod_that_has_got_a_virtual_node_stays_there_while_its_backend_is_away(
    node: dict[str, str] | None, seconds: int, is_cached: bool
) -> None:
    nested, policy = build_pod(tolerations=[LOST]), Policy(placement=RULES)
    host = build_host(nested, policy)
    host["spec"]["nodeName"] = "n"
    provider = MemoryHost(host)
    syncer, _ = build(nested, provider, policy=policy, nodes={"n": node} if node else {"other": {}}, is_cached=is_cached)
    await syncer.sync(nested, host)
    (now,) = provider.pods.values()
    found = [item for item in now["spec"]["tolerations"] if item["key"] == LOST["key"]]
    assert found == [LOST | {"tolerationSeconds": seconds}]


@pytest.mark.parametrize(
    ("total", "labels", "is_sent"),
    [
        (0, 500, True),
        (limits.COPIED_BYTES - 10_000, 500, False),
        # Small changes of what there is go down even where there is too much.
        (2 * limits.COPIED_BYTES, 1, True),
    ],
)
async def test_a_pod_does_not_grow_beyond_the_bytes_that_a_cluster_may_have(total: int, labels: int, is_sent: bool) -> None:
    _, host = build_pair()
    nested = build_pod(labels={f"label-{number}": "x" * 60 for number in range(labels)})
    provider = MemoryHost(host)
    syncer, api = build(nested, provider, total)
    await syncer.sync(nested, host)
    (now,) = provider.pods.values()
    assert (host_key("label-0", ()) in now["metadata"]["labels"]) is is_sent
    assert read_events(api) == ([] if is_sent else [limits.find_excess(total, 0, 10**6)])


async def test_no_debug_container_is_added_where_there_is_too_much() -> None:
    _, host = build_pair()
    nested = build_pod(labels={"color": "red"}, ephemeralContainers=[{"name": "debug", "image": "busybox"}])
    provider = MemoryHost(host)
    syncer, api = build(nested, provider, limits.COPIED_BYTES)
    await syncer.sync(nested, host)
    (now,) = provider.pods.values()
    assert "ephemeralContainers" not in now["spec"]
    assert read_events(api) == [limits.find_excess(limits.COPIED_BYTES, 0, 1)]


async def test_a_refused_resize_keeps_nothing_else_from_the_host_and_its_generation_is_not_observed() -> None:
    nested, host = build_pair()
    nested["metadata"]["generation"] = 2
    nested["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    nested["spec"]["readinessGates"] = [{"conditionType": "a.b/c"}]
    nested["status"] = {"conditions": [{"type": "a.b/c", "status": "True"}]}
    provider = Refusing(InvalidInput("no"), host, only="resize")
    syncer, api = build(nested, provider)
    await syncer.sync(nested, host)
    (now,) = provider.pods.values()
    assert now["metadata"]["labels"][host_key("color", ())] == "blue"
    assert now["status"]["conditions"] == [{"type": "a.b/c", "status": "True"}]
    assert "nestor.dev/nested-generation" not in now["metadata"]["annotations"]
    assert read_events(api) == ["no"]
    provider.error = None
    await syncer.sync(nested, host)
    (now,) = provider.pods.values()
    assert now["metadata"]["annotations"]["nestor.dev/nested-generation"] == "2"


async def test_a_status_field_that_the_nested_server_does_not_know_is_sent_once() -> None:
    class Old(MemoryApi):
        async def patch(self, kind: Any, name: str, namespace: str | None, patch: Any, **options: Any) -> Object:
            sent.append(patch["status"])
            known = {key: value for key, value in patch["status"].items() if key != "observedGeneration"}
            return await super().patch(kind, name, namespace, {"status": known}, **options)

    sent: list[Object] = []
    nested, host = build_pair()
    syncer, _ = build(nested, MemoryHost(host))
    old = Old()
    nested = old.put(kinds.POD, nested)
    syncer.context = replace(syncer.context, nested=cast(Api, old))
    await syncer.write_status(nested, {"phase": "Running", "observedGeneration": 1, "conditions": []})
    await syncer.write_status(nested, {"phase": "Running", "observedGeneration": 2, "conditions": []})
    assert sent == [{"phase": "Running", "observedGeneration": 1}, {"phase": "Running"}]


async def test_a_debug_container_is_held_to_the_policy_of_the_moment_in_which_it_is_sent() -> None:
    nested, host = build_pair()
    nested["spec"]["ephemeralContainers"] = [{"name": "root", "image": "x", "securityContext": {"privileged": True}}]
    parts: list[Part] = []

    class Revoking(MemoryHost):
        """The class takes it back while the first patch is under way."""

        async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
            parts.append(part)
            syncer.context.caches._policy = Policy()

    syncer, api = build(nested, Revoking(host), policy=Policy(pod_security="Privileged"))
    await syncer.sync(nested, host)
    assert parts == [""]
    assert read_events(api) == []
    await syncer.sync(nested, host)
    (told,) = read_events(api)
    assert "`spec.ephemeralContainers[0].securityContext.privileged`" in told


@pytest.mark.parametrize(
    ("error", "told", "is_tried_again"),
    [
        (NotFound("gone"), [], False),
        (NotYet("somebody else writes"), [], True),
        (InvalidInput(f"not in {TARGET.namespace}"), ["not in shop"], False),
    ],
)
async def test_what_becomes_of_a_refused_change(error: ProviderError, told: list[str], is_tried_again: bool) -> None:
    nested, host = build_pair()
    syncer, api = build(nested, Refusing(error, host))

    with pytest.raises(RetryLater) if is_tried_again else contextlib.nullcontext():
        for _ in range(2):
            await syncer.sync(nested, host)
    assert read_events(api) == told


@pytest.mark.parametrize("is_bound", [False, True])
async def test_a_pod_is_isolated_whatever_the_nested_cluster_refuses(is_bound: bool) -> None:
    """Admins of the nested cluster may refuse bindings and statuses, by a webhook of theirs that is down."""
    nested, host = build_pair()
    host["spec"]["nodeName"] = "n"
    host["status"] = {"phase": "Running"}
    if is_bound:
        nested["spec"]["nodeName"] = "n"
    provider = MemoryHost(host)
    syncer, api = build(nested, provider, isolation=CLOSED)
    api.refusal = lambda *_: ApiError(500, "InternalError", "failed calling webhook")
    for _ in range(2):
        with pytest.raises(ApiError, match="failed calling webhook"):
            await syncer.sync(nested, host)
    (there,) = provider.pods.values()
    assert {labels.ISOLATED_INGRESS, labels.ISOLATED_EGRESS} <= there["metadata"]["labels"].keys()


@pytest.mark.parametrize(
    ("error", "raised"),
    [(NotYet("later"), RetryLater), (ProviderError("down"), ProviderError), (NotFound("gone"), None), (InvalidInput("no"), None)],
)
async def test_the_status_comes_up_even_if_the_pod_cannot_be_isolated(
    error: ProviderError, raised: type[Exception] | None
) -> None:
    nested, host = build_pair()
    host["status"] = {"phase": "Running"}
    syncer, api = build(nested, Refusing(error, host), isolation=CLOSED)
    with pytest.raises(raised) if raised else contextlib.nullcontext():
        await syncer.sync(nested, host)
    assert (api.look(kinds.POD, "web", "shop") or {})["status"]["phase"] == "Running"
