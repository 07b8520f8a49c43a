"""What can go wrong between a virtual node and another cluster: nothing runs twice, nothing is left, every error has its name."""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.cluster.pki import build_kubeconfig
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, Unreachable, kinds, kubeconfig
from nestor.overflow.remote import cluster
from nestor.overflow.remote.provider import RemoteProvider
from nestor.overflow.remote.settings import Access
from nestor.pods.providers import errors
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotYet, ProviderError, Unauthorized
from tests.unit.overflow.remote.conftest import SPACE, TOKEN, Far, build_pod
from tests.waiting import comes_true, eventually

Fault = Callable[[str, str], Exception | None]

CONFIG = {"kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
INPUTS = Inputs({"settings": CONFIG})
VOLUME = {"name": "v", "configMap": {"name": "settings"}}


def only(verb: str, what: str, error: Exception, times: int = 1) -> Fault:
    """A fault of the first requests of that kind."""
    left = [times]

    def find(done: str, path: str) -> Exception | None:
        if done != verb or what not in path or not left[0]:
            return None
        left[0] -= 1
        return error

    return find


def quota(resource: str) -> Forbidden:
    text = f'pods "web" is forbidden: exceeded quota: team, requested: {resource}=1, used: {resource}=9, limited: {resource}=9'
    return Forbidden(403, "Forbidden", text)


RBAC = 'pods is forbidden: User "system:serviceaccount:far:big" cannot create resource "pods" in API group "" in namespace "far"'
LOST = Unreachable("POST pods: the answer did not come")


async def phase_of(provider: RemoteProvider, pod: Object) -> str | None:
    """None: nothing is known of it."""
    found: str | None = (await provider.statuses([pod])).get(pod["metadata"]["uid"], {}).get("phase")
    return found


async def told(provider: RemoteProvider, pod: Object, phase: str | None) -> None:
    """Await that this is told of the pod: a watch brings it."""

    async def is_told() -> bool:
        return await phase_of(provider, pod) == phase

    await eventually(is_told)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (quota("pods"), NoRoom, "exceeded quota: team, requested: pods=1"),
        (quota("requests.nvidia.com/gpu"), NoRoom, "requests.nvidia.com/gpu"),
        (Forbidden(403, "Forbidden", RBAC), Unauthorized, 'cannot create resource "pods"'),
        (
            Forbidden(403, "Forbidden", 'pods "web" is forbidden: violates PodSecurity "restricted:latest"'),
            InvalidInput,
            "PodSecurity",
        ),
        (Forbidden(403, "Forbidden", "going", {"causes": [{"reason": "NamespaceTerminating"}]}), NotYet, "going"),
        (ApiError(401, "Unauthorized", "Unauthorized"), Unauthorized, "refuses our credentials"),
        (NotFound(404, "NotFound", 'namespaces "far" not found'), NotYet, 'namespaces "far" not found'),
        (Invalid(422, "Invalid", "spec.containers[0].image: Required value"), InvalidInput, "spec.containers[0].image"),
        (Invalid(400, "BadRequest", 'strict decoding error: unknown field "spec.new"'), InvalidInput, "spec.new"),
        (Conflict(409, "Conflict", 'cannot be fulfilled on resourcequotas "team"'), NotYet, "resourcequotas"),
        (ApiError(429, "TooManyRequests", "slow down"), NotYet, "slow down"),
        (ApiError(500, "InternalError", "failed calling webhook"), ProviderError, "failed calling webhook"),
        (ApiError(503, "ServiceUnavailable", "etcd is away"), errors.Unreachable, "etcd is away"),
        (ApiError(504, "Timeout", "timeout"), errors.Unreachable, "timeout"),
        (Unreachable("timed out"), errors.Unreachable, "timed out"),
        (TypeError("string indices must be integers"), errors.Unreachable, "nonsense"),
        (Invalid(422, "Invalid", f"you said {TOKEN}"), InvalidInput, "you said ***"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:40]),
)
async def test_each_error_of_a_creation_has_its_meaning(
    far: Far, error: Exception, kind: type[ProviderError], words: str
) -> None:
    far.api.fault = only("POST", "pods", error)
    with pytest.raises(ProviderError) as caught:
        await far.set_up().create(build_pod())
    assert (type(caught.value), words in caught.value.message) == (kind, True)
    assert not far.api.starts


@pytest.mark.parametrize(("verb", "what"), [("POST", "pods"), ("APPLY", "configmaps"), ("PATCH", "pods")])
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("is_new_process", [False, True])
async def test_a_creation_that_breaks_off_goes_on(far: Far, verb: str, what: str, is_done: bool, is_new_process: bool) -> None:
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    setattr(far.api, "lost" if is_done else "fault", only(verb, what, LOST))
    with pytest.raises(errors.Unreachable):
        await provider.create(pod, INPUTS)
    if is_new_process:
        provider = far.set_up()
    await provider.create(pod, INPUTS)
    assert far.api.starts == {"host-uid": 1}
    far.api.run("host-uid")
    (copy,) = far.api.every("configmaps")
    assert copy["metadata"]["ownerReferences"][0]["uid"] == far.api.of("host-uid")["metadata"]["uid"]


async def test_a_pod_that_waits_for_its_copies_is_not_told_and_can_be_found_and_deleted(far: Far) -> None:
    """A virtual node would take it for one that runs, and never go on with it."""
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    far.api.fault = only("APPLY", "configmaps", LOST)
    with pytest.raises(errors.Unreachable):
        await provider.create(pod, INPUTS)
    later = far.set_up()
    assert await phase_of(later, pod) is None
    (found,) = await later.list()
    assert (found["metadata"]["uid"], found["metadata"]["name"], found["metadata"]["namespace"]) == ("host-uid", "web", "shop")
    await later.delete(found)
    assert not far.api.every("pods")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (quota("configmaps"), InvalidInput),
        (Forbidden(403, "Forbidden", "denied by a webhook"), InvalidInput),
        (Forbidden(403, "Forbidden", RBAC), Unauthorized),
    ],
)
async def test_a_pod_that_cannot_have_its_copies_is_not_left(far: Far, error: Exception, kind: type[ProviderError]) -> None:
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    far.api.fault = only("APPLY", "configmaps", error)
    with pytest.raises(kind):
        await provider.create(pod, INPUTS)
    assert not far.api.every("pods")
    await provider.create(pod, INPUTS)
    assert await phase_of(provider, pod)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            Forbidden(403, "Forbidden", 'pods "x" is forbidden: User "nestor" cannot patch resource "pods/resize"'),
            "may not patch",
        ),
        (NotFound(404, "NotFound", "the server could not find the requested resource"), "too old to change"),
    ],
)
async def test_a_change_that_the_cluster_does_not_know_or_allow_is_refused(far: Far, error: Exception, words: str) -> None:
    provider = far.set_up()
    await provider.create(build_pod())
    far.api.fault = only("PATCH", "resize", error)
    (message,) = await provider.update(build_pod(container={"resources": {"requests": {"cpu": "2"}}}))
    assert f"{words} `pods/resize`" in message


async def test_a_pod_that_goes_while_it_is_changed_is_gone(far: Far) -> None:
    provider = far.set_up()
    await provider.create(build_pod())

    def remove(verb: str, what: str) -> Exception | None:
        if verb != "PATCH":
            return None
        far.api.fault = lambda *_: None
        far.api.remove(far.api.of("host-uid"))
        return NotFound(404, "NotFound", "pods not found")

    far.api.fault = remove
    with pytest.raises(errors.NotFound):
        await provider.update(build_pod(container={"resources": {"requests": {"cpu": "2"}}}))


async def test_a_deletion_waits_for_a_creation_that_may_be_under_way(far: Far) -> None:
    provider, pod = far.set_up(), build_pod()
    far.api.fault = only("POST", "pods", LOST)
    with pytest.raises(errors.Unreachable):
        await provider.create(pod)
    with pytest.raises(NotYet, match="may still be about to create"):
        await provider.delete(pod)
    calm = far.set_up()
    await calm.delete(pod)


async def test_a_pod_that_goes_before_it_could_run_is_waited_for(far: Far) -> None:
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    far.api.fault = only("APPLY", "configmaps", LOST)
    with pytest.raises(errors.Unreachable):
        await provider.create(pod, INPUTS)
    there = far.api.of("host-uid")
    there["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"  # somebody's finalizer holds it
    far.api.put(kinds.POD, there)
    with pytest.raises(NotYet, match="still ending"):
        await provider.create(pod, INPUTS)
    assert not far.api.every("configmaps")


async def test_a_pod_that_has_ended_gets_no_copies(far: Far) -> None:
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    await provider.create(pod, INPUTS)
    far.api.run("host-uid")
    far.api.end("host-uid", 0)
    await provider.refresh(pod, Inputs({"settings": CONFIG | {"data": {"a": "2"}}}))
    assert [item["data"] for item in far.api.every("configmaps")] == [{"a": "1"}]


async def test_inputs_that_are_missing_are_waited_for(far: Far) -> None:
    provider = far.set_up()
    with pytest.raises(NotYet, match="ConfigMap 'settings' does not exist"):
        await provider.create(build_pod(volumes=[VOLUME]))
    token = {"serviceAccountToken": {"path": "token"}}
    with pytest.raises(NotYet, match="volume 'access' has no service account token"):
        await provider.create(build_pod(volumes=[{"name": "access", "projected": {"sources": [token]}}]))
    optional = {"name": "v", "configMap": {"name": "settings", "optional": True}}
    await provider.create(build_pod(volumes=[optional]))
    assert far.names("configmaps") == []
    assert list(far.api.starts.values()) == [1]


async def test_changed_inputs_change_the_copies_of_a_pod_that_runs(far: Far) -> None:
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    await provider.create(pod, INPUTS)
    far.api.run("host-uid")
    await provider.create(pod, INPUTS)
    writes = [item for item in far.api.asked if item.startswith("APPLY")]
    assert len(writes) == 1
    await provider.create(pod, Inputs({"settings": CONFIG | {"data": {"a": "2"}}}))
    assert [item["data"] for item in far.api.every("configmaps")] == [{"a": "2"}]
    assert far.api.starts == {"host-uid": 1}


async def test_a_refresh_starts_nothing_and_takes_nothing_away(far: Far) -> None:
    provider = far.set_up()
    source = {"serviceAccountToken": {"path": "token"}}
    pod = build_pod(volumes=[VOLUME, {"name": "access", "projected": {"sources": [source]}}])
    full = Inputs({"settings": CONFIG}, tokens={("access", "token"): "one"})
    with pytest.raises(errors.NotFound):
        await provider.refresh(pod, full)
    far.api.fault = only("APPLY", "configmaps", LOST)
    with pytest.raises(errors.Unreachable):
        await provider.create(pod, full)
    with pytest.raises(errors.NotFound):  # it has not run
        await provider.refresh(pod, full)
    await provider.create(pod, full)
    await provider.refresh(pod, Inputs())
    await provider.refresh(pod, Inputs(tokens={("access", "token"): "two"}))
    assert [item["data"] for item in far.api.every("configmaps")] == [{"a": "1"}]
    assert [item["data"] for item in far.api.every("secrets")] == [{"token-1-0": "dHdv"}]
    assert far.api.starts == {"host-uid": 1}


async def test_a_pod_that_runs_is_not_refused_for_its_copies(far: Far, caplog: pytest.LogCaptureFixture) -> None:
    provider, pod = far.set_up(), build_pod(volumes=[VOLUME])
    await provider.create(pod, INPUTS)
    far.api.run("host-uid")
    far.api.fault = only("APPLY", "configmaps", quota("configmaps"))
    await provider.create(pod, Inputs({"settings": CONFIG | {"data": {"a": "2"}}}))
    assert "exceeded quota" in caplog.text
    assert await phase_of(provider, pod)


@pytest.mark.parametrize(("asked", "sent"), [(0, 1), (1, 1), (20, 20), (None, None)])
async def test_a_pod_that_runs_is_never_removed_before_its_containers_have_ended(
    far: Far, asked: int | None, sent: int | None
) -> None:
    provider, pod = far.set_up(), build_pod()
    await provider.create(pod)
    far.api.run("host-uid")
    await provider.delete(pod, grace_seconds=asked)
    assert far.api.bodies[far.api.asked.index(next(item for item in far.api.asked if item.startswith("DELETE")))] == sent


async def test_other_peoples_pods_are_left_alone(far: Far) -> None:
    """Two host clusters may have backends of the same name in one namespace."""
    one, other = far.set_up(uid="one"), far.set_up(uid="other")
    mine, theirs = build_pod("a", "uid-a"), build_pod("b", "uid-b")
    await one.create(mine)
    await other.create(theirs)
    assert [item["metadata"]["uid"] for item in await one.list()] == ["uid-a"]
    assert await phase_of(one, theirs) is None
    for call in (one.delete(theirs), one.get(theirs), one.create(theirs), one.update(theirs)):
        with pytest.raises(NotYet, match="another backend"):
            await call
    assert sorted(far.api.starts) == ["uid-a", "uid-b"]


@pytest.mark.parametrize("is_ours", [True, False])
async def test_a_pod_that_we_have_ended_or_that_is_removed_while_it_runs_is_gone(far: Far, is_ours: bool) -> None:
    provider, pod = far.set_up(), build_pod(restartPolicy="Never")
    await provider.create(pod)
    far.api.run("host-uid")
    await told(provider, pod, "Running")
    if is_ours:  # how it ends is of no interest
        await provider.delete(pod, grace_seconds=20)
        far.api.end("host-uid", 143)
    far.api.remove(far.api.of("host-uid"))
    await told(provider, pod, None)
    with pytest.raises(errors.NotFound):
        await provider.get(pod)


async def test_a_pod_with_our_labels_and_another_name_is_nobodys(far: Far) -> None:
    """Whoever may create pods in the namespace could end others' pods in the eyes of their owners."""
    provider, pod = far.set_up(), build_pod()
    await provider.create(pod)
    far.api.run("host-uid")
    forged = far.api.of("host-uid")
    forged["metadata"] = {key: forged["metadata"][key] for key in ("namespace", "labels", "annotations")} | {
        "name": "a-forged-one"
    }
    forged["status"] = {"phase": "Succeeded"}
    far.api.put(kinds.POD, forged)
    found = await provider._cluster.look()
    await comes_true(lambda: {"a-forged-one"} < {item["metadata"]["name"] for item in found})
    assert await phase_of(provider, pod) == "Running"
    far.api.drop(kinds.POD, "a-forged-one", SPACE)
    await comes_true(lambda: len(list(found)) == 1)
    assert await phase_of(provider, pod) == "Running"


async def test_huge_notes_are_not_kept(far: Far) -> None:
    provider, pod = far.set_up(), build_pod()
    await provider.create(pod)
    there = far.api.of("host-uid")
    there["metadata"]["annotations"][labels.HOST_LABELS] = '{"a": "' + "x" * 20_000 + '"}'
    assert labels.HOST_LABELS not in cluster.trim(there)["metadata"]["annotations"]
    assert cluster.trim(there)["metadata"]["annotations"][labels.NESTED_NAME] == "web"


async def test_one_small_request_asks_about_all_pods(far: Far) -> None:
    provider = far.set_up()
    pods = [build_pod(f"web-{index}", f"uid-{index}") for index in range(50)]
    for pod in pods:
        await provider.create(pod)
    requests: list[str] = []
    far.api.fault = lambda verb, what: requests.append(f"{verb} {what}")
    assert len(await provider.statuses(pods)) == 50
    assert [item for item in requests if "watch" not in item] == [f"GET /api/v1/namespaces/{SPACE}/pods"]


async def test_only_what_has_changed_is_looked_at_again(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second, for a thousand pods."""
    provider, pods = far.set_up(), [build_pod("a", "uid-a"), build_pod("b", "uid-b")]
    for pod in pods:
        await provider.create(pod)
        far.api.run(pod["metadata"]["uid"])

    async def are_known() -> bool:
        found = await provider.statuses(pods)
        return [found[uid]["phase"] for uid in ("uid-a", "uid-b")] == ["Running"] * 2

    await eventually(are_known)
    looked: list[str] = []
    reduced = provider._reduce

    def look(pod: Object, there: Object) -> Object:
        looked.append(pod["metadata"]["uid"])
        return reduced(pod, there)

    monkeypatch.setattr(provider, "_reduce", look)
    await provider.statuses(pods)
    far.api.tell("uid-b", reason="Slow")

    async def is_told() -> bool:
        return bool((await provider.statuses(pods))["uid-b"].get("reason") == "Slow")

    await eventually(is_told)
    assert looked == ["uid-b"]
    await provider.delete(pods[0], grace_seconds=20)  # it may be given up with its node as time goes by

    async def is_looked_at() -> bool:
        await provider.statuses(pods)
        return looked.count("uid-a") > 1

    await eventually(is_looked_at)


async def test_nonsense_about_one_pod_is_no_news_of_it(far: Far) -> None:
    provider, pods = far.set_up(), [build_pod("a", "uid-a"), build_pod("b", "uid-b")]
    for pod in pods:
        await provider.create(pod)
    found = far.api.of("uid-a")
    far.api.put(kinds.POD, found | {"status": {"phase": "Failed", "initContainerStatuses": [{"name": "x"}], "conditions": [{}]}})
    nonsense = far.api.of("uid-b")
    far.api.put(kinds.POD, nonsense | {"status": {"phase": "Running", "containerStatuses": [{"name": {}}]}})

    async def is_told() -> bool:
        found = await provider.statuses(pods)
        return found.keys() == {"uid-a"} and found["uid-a"]["phase"] == "Failed"

    await eventually(is_told)


async def test_a_server_that_is_no_api_server_is_no_backend(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(*_: Any, **__: Any) -> str:
        return "<html>It works!</html>"

    provider = far.set_up()
    monkeypatch.setattr(far.api, "request", answer)
    with pytest.raises(errors.Unreachable, match="no API server"):
        await provider.check()


async def test_a_key_that_does_not_fit_its_certificate_is_told() -> None:
    now = datetime.datetime.now(datetime.UTC)
    authority = certificates.new_authority("far", now)
    own, other = (certificates.new_leaf(authority, name, now) for name in ("own", "other"))
    mixed = dataclasses.replace(own, key=other.key)
    content = kubeconfig.read_other(build_kubeconfig("https://far.example", authority.certificate, mixed, "own"))
    with pytest.raises(ValueError, match="the credentials cannot be used"):
        await Access(content).connect()
