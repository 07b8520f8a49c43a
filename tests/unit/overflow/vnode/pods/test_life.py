"""The life of pods on a virtual node, with an API server and a backend in memory."""

import asyncio
import itertools
import time
from types import SimpleNamespace
from typing import Any

import pytest

from nestor.api.objects import Object, status_of
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, kinds
from nestor.overflow.vnode.pods import entry
from nestor.overflow.vnode.pods.orphans import OrphanFinder
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotYet, Unauthorized, Unreachable
from tests.unit.overflow.vnode.world import NODE, SPACE, World, first


async def test_a_pod_runs_and_succeeds(world: World) -> None:
    uid = await world.accept(note={"JobID": "7", "nestor.dev/dropped": "flags, pre-exec"})
    assert (await world.phase("web", "Pending"))["hostIP"] == "10.0.0.7"
    world.backend.run(uid)
    assert (await world.phase("web", "Running"))["containerStatuses"][0]["ready"] is True
    world.backend.end(uid)
    status = await world.phase("web", "Succeeded")
    assert status["qosClass"] == "BestEffort"
    assert world.message("Accepted").endswith("as job 7")
    assert "(`interlink.allowedAnnotations`): flags, pre-exec" in world.message("FieldsIgnored")
    assert world.backend.starts == {uid: 1}


async def test_all_pods_are_asked_about_in_one_call(world: World) -> None:
    for index in range(50):
        world.bind(f"web-{index}")
    await world.until(lambda: len(world.backend.pods) == 50)
    await world.polled(5)
    assert world.backend.count("get") == 0
    assert world.poller.calls == world.backend.count("statuses")


async def test_what_a_pod_needs_is_read_first(world: World) -> None:
    world.api.put(kinds.CONFIG_MAP, {"metadata": {"name": "settings", "namespace": SPACE}, "data": {"a": "b"}})
    world.api.put(kinds.SECRET, {"metadata": {"name": "pull", "namespace": SPACE}, "data": {"k": "eA=="}})
    volumes = [{"name": "v", "configMap": {"name": "settings"}}, {"name": "w", "secret": {"secretName": "absent"}}]
    uid = await world.accept(volumes=volumes, imagePullSecrets=[{"name": "pull"}])
    inputs = world.backend.inputs[uid]
    assert (list(inputs.config_maps), list(inputs.secrets), inputs.shape, inputs.is_new) == (
        ["settings"],
        ["pull"],
        "default",
        True,
    )


async def test_containers_have_the_resources_of_their_class_at_a_backend(world: World) -> None:
    """And nothing that a quota would count: whoever has a syncer's token writes that annotation, too."""
    uid = await world.accept(note={"nestor.dev/backend-resources": '{"limits": {"memory": "1Gi", "nvidia.com/gpu": "8"}}'})
    world.backend.run(uid)
    await world.phase("web", "Running")
    await world.run("other")
    assert world.backend.pods[uid]["spec"]["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}
    assert "PodUpdateRefused" not in world.events, "it is not what has changed since"


async def test_resources_of_a_class_that_are_none_send_nothing_and_harm_no_backend(world: World) -> None:
    world.bind("web", note={"nestor.dev/backend-resources": '{"limits": "many"}'})
    await world.until(lambda: "BackendUnavailable" in world.events)
    assert not world.backend.pods
    assert world.health.problem[1] == "the backend has not answered yet"


async def test_a_backend_knows_the_address_of_the_node(world: World) -> None:
    seen: list[str] = []

    def look(call: str, pod: Object) -> None:
        if call == "create":
            seen.append(status_of(pod).get("hostIP", ""))

    world.backend.fault = look
    await world.accept()
    assert seen == ["10.0.0.7"]


async def test_service_links_are_those_of_a_kubelet(world: World) -> None:
    for name, space, address in (
        ("kubernetes", "default", "10.43.0.1"),
        ("db", SPACE, "10.43.0.5"),
        ("db", "other", "10.43.0.6"),
    ):
        spec = {"clusterIP": address, "ports": [{"port": 443, "name": "https"}]}
        world.api.put(kinds.SERVICE, {"metadata": {"name": name, "namespace": space}, "spec": spec})
    linked, plain = world.bind("linked", enableServiceLinks=True), world.bind("plain")
    await world.until(lambda: len(world.backend.pods) == 2)
    hosts = {
        uid: {k: v for k, v in world.backend.inputs[uid].environment.items() if k.endswith("_HOST")} for uid in (linked, plain)
    }
    assert hosts[plain] == {"KUBERNETES_SERVICE_HOST": "10.43.0.1"}
    assert hosts[linked] == {"KUBERNETES_SERVICE_HOST": "10.43.0.1", "DB_SERVICE_HOST": "10.43.0.5"}


async def test_a_refused_pod_fails_with_the_reason(world: World) -> None:
    world.bind("web", hostNetwork=True)
    status = await world.phase("web", "Failed")
    assert (status["reason"], status["message"]) == ("BackendRefused", "spec.hostNetwork: not possible here")
    assert world.events.count("BackendRefused") == 1


async def test_a_refused_pod_that_would_be_replaced_at_once_waits(world: World) -> None:
    uid = world.bind("web", hostNetwork=True, restartPolicy="Always")
    await world.until(lambda: world.backend.count("create") >= 3)
    status = await world.phase("web", "Pending")
    assert status["reason"] == "BackendRefused"
    assert world.events.count("BackendRefused") == 1
    await world.until(lambda: not world.entry(uid).mark)  # between two attempts


async def test_a_pod_waits_until_the_backend_has_room(world: World) -> None:
    full = [True]
    world.backend.fault = lambda call, _: NoRoom("exceeded quota: gpus") if call == "create" and full[0] else None
    uid = world.bind("web")
    await world.until(lambda: "BackendFull" in world.events)
    assert (await world.phase("web", "Pending"))["message"] == "exceeded quota: gpus"
    full[0] = False
    await world.mark("web", "Accepted")
    assert "reason" not in (await world.phase("web", "Pending"))
    assert world.backend.starts == {uid: 1}


async def test_pods_of_daemon_sets_stay_here(world: World) -> None:
    world.bind("agent", owner="DaemonSet")
    await world.accept(owner="ReplicaSet")
    assert (await world.phase("agent", "Pending"))["reason"] == "DaemonSetPod"
    assert "agent" not in str(world.backend.asked)
    world.delete("agent")
    await world.phase("agent", None)


async def test_deletion_ends_it_at_the_backend_first(world: World) -> None:
    world.backend.ends_at_once = False
    uid = await world.run()
    world.delete("web", grace=5)
    await world.until(lambda: world.backend.count("delete"))
    await world.until(lambda: world.backend.count("get"))
    assert world.look("web") is not None
    world.backend.finish(uid)
    await world.phase("web", None)
    await world.until(lambda: len(world.pods.registry) == 0)
    assert world.backend.count("delete") == 1


async def test_a_deleted_pod_tells_how_it_has_ended(world: World) -> None:
    """Controllers of Jobs count pods by their status, and hold them by a finalizer until then."""
    world.backend.ends_at_once = False
    uid = world.bind("web")
    world.edit("web", metadata={"finalizers": ["batch.kubernetes.io/job-tracking"]})
    await world.mark("web", "Accepted")
    world.delete("web")
    await world.until(lambda: world.backend.count("delete"))
    world.backend.end(uid, code=3)
    status = await world.phase("web", "Failed")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    await world.until(lambda: f"DELETE pods {SPACE}/web" in world.api.asked)
    world.pods.queue.add(uid)
    await world.settle()
    assert world.api.asked.count(f"DELETE pods {SPACE}/web") == 1


async def test_a_shorter_grace_period_is_passed_on(world: World) -> None:
    world.backend.ends_at_once = False
    await world.accept()
    world.delete("web", grace=30)
    await world.until(lambda: world.backend.count("delete") == 1)
    world.delete("web", grace=0)
    await world.phase("web", None)
    assert world.backend.count("delete") == 2
    assert not world.backend.pods


async def test_a_successor_of_the_same_name_is_another_pod(world: World) -> None:
    first = await world.accept()
    world.api.drop(kinds.POD, "web", SPACE)
    second = world.bind("web")
    await world.until(lambda: list(world.backend.pods) == [second])
    assert world.backend.starts == {first: 1, second: 1}


async def test_a_pod_that_was_never_sent_needs_no_backend_to_go(world: World) -> None:
    """Its ConfigMaps cannot be read, so that it waits here; meanwhile, the backend goes away."""
    world.api.put(kinds.CONFIG_MAP, {"metadata": {"name": "settings", "namespace": SPACE}})
    world.api.fault = lambda _, what: Forbidden(403, "Forbidden", "not yet") if what.startswith("configmaps") else None
    world.bind("web", volumes=[{"name": "v", "configMap": {"name": "settings"}}])
    await world.until(lambda: any("GET configmaps" in item for item in world.api.asked))
    world.backend.is_down = True
    world.delete("web")
    await world.phase("web", None)
    assert not world.backend.asked


async def test_its_time_on_the_node_is_limited(world: World) -> None:
    uid = world.bind("web", activeDeadlineSeconds=0)
    status = await world.phase("web", "Failed")
    assert status["reason"] == "DeadlineExceeded"
    assert uid not in world.backend.pods


@pytest.mark.parametrize(("why", "closes"), [("Queued", True), ("ImagePullBackOff", False)])
async def test_a_pod_that_is_held_back_goes_back_and_closes_the_node_unless_it_is_its_own_fault(
    world: World, why: str, closes: bool
) -> None:
    """Whoever starts one from an image that does not exist would keep everybody's pods away."""
    told: list[tuple[str, float]] = []
    world.pods.on_bounce(lambda node, seconds: told.append((node, seconds)))
    uid = await world.accept(seconds="3600")
    world.backend.pods[uid]["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": why}}
    world.allow_a_second("web")
    status = await world.phase("web", "Failed")
    assert status["reason"] == "BouncedBack"
    assert "within 1 s" in world.message("BouncedBack")
    words = {item["type"]: item["status"] for item in status["conditions"]}
    assert (words["DisruptionTarget"], words["nestor.dev/Sent"]) == ("True", "False")
    assert uid not in world.backend.pods
    assert told == ([(NODE, 1.0)] if closes else [])
    await world.settle()
    assert world.events.count("BouncedBack") == 1


@pytest.mark.parametrize(
    ("error", "closed"), [(NoRoom("quota exceeded"), 1), (InvalidInput("no such class"), 0), (NotYet("x"), 0)]
)
async def test_a_pod_that_was_never_accepted_closes_a_node_that_has_no_room(world: World, error: Exception, closed: int) -> None:
    told: list[tuple[str, float]] = []
    world.pods.on_bounce(lambda node, seconds: told.append((node, seconds)))
    world.backend.fault = lambda call, _: error if call == "create" else None
    world.bind("web", seconds="1", restartPolicy="Always")
    assert (await world.phase("web", "Failed"))["reason"] == "BouncedBack"
    assert len(told) == closed


async def test_a_pod_that_starts_at_the_last_moment_stays(world: World) -> None:
    """Between the last statuses and the deadline: the backend is asked once more."""
    uid = await world.accept(seconds="3600")
    started = asyncio.Event()

    def start(call: str, _: Object) -> Exception | None:
        if call == "get":
            world.backend.run(uid)
            started.set()
        return Unreachable("busy") if call == "statuses" else None

    world.backend.fault = start
    world.allow_a_second("web")
    await started.wait()
    world.backend.fault = lambda _, __: None
    await world.phase("web", "Running")
    assert world.backend.count("delete") == 0
    assert "BouncedBack" not in world.events


async def test_a_silent_backend_leaves_all_as_it_is(world: World) -> None:
    uid = await world.run()
    world.backend.is_down = True
    await world.polled(5)
    assert (world.look("web") or {})["status"]["phase"] == "Running"
    world.backend.is_down = False
    world.backend.end(uid)
    await world.phase("web", "Succeeded")


async def test_a_pod_that_is_missing_for_a_while_is_not_lost(world: World) -> None:
    uid = await world.run()
    hidden = world.backend.pods.pop(uid)
    await world.polled(5)
    assert (world.look("web") or {})["status"]["phase"] == "Running"
    assert world.backend.count("get") == 0
    world.backend.pods[uid] = hidden
    await world.until(lambda: world.entry(uid).missing_since is None)


async def test_what_becomes_due_while_a_pod_is_looked_at_is_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = await world.run()
    await world.settle()
    clock = itertools.count(time.monotonic(), 70)
    monkeypatch.setattr(entry, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    world.backend.finish(uid)
    assert (await world.phase("web", "Failed"))["reason"] == "BackendLost"


@pytest.mark.parametrize("moment", ["fault", "lost"])
@pytest.mark.parametrize("error", [Unreachable("timeout"), Unauthorized("expired"), NotYet("not known yet"), ValueError("JSON")])
async def test_a_request_or_an_answer_that_is_lost_starts_nothing_twice(world: World, moment: str, error: Exception) -> None:
    setattr(world.backend, moment, first(3, "create", error))
    uid = await world.accept()
    assert world.backend.starts == {uid: 1}
    assert world.events.count("BackendUnavailable") == 1


@pytest.mark.parametrize(
    "error", [Conflict(409, "Conflict", "changed"), ApiError(500, "InternalError", "etcd"), Invalid(422, "Invalid", "no")]
)
async def test_a_status_that_is_not_accepted_is_written_again(world: World, error: ApiError) -> None:
    world.api.refusal = first(3, "PATCH", error)
    uid = await world.run()
    assert world.backend.starts == {uid: 1}


async def test_nothing_is_sent_before_the_mark_is_written(world: World) -> None:
    world.api.refusal = lambda verb, _: ApiError(503, "Unavailable", "away") if verb == "PATCH" else None
    world.bind("web")
    await world.until(lambda: sum("PATCH pods" in item for item in world.api.asked) >= 3)
    assert world.backend.count("create") == 0


STRANGER: Object = {"metadata": {"name": "old", "namespace": SPACE, "uid": "old"}, "spec": {"containers": []}, "status": {}}


async def test_orphans_are_ended_when_they_were_seen_twice(world: World) -> None:
    uid = await world.accept()
    world.backend.pods["old"] = STRANGER
    finder = OrphanFinder(world.backend, world.pods.registry, world.health, lambda: frozenset({NODE}))
    await finder.look()
    assert "old" in world.backend.pods
    await finder.look()
    await world.until(lambda: list(world.backend.pods) == [uid])


@pytest.mark.parametrize("nodes", [[], [NODE, "other"]])
async def test_while_the_pods_of_a_node_are_not_known_none_is_an_orphan(world: World, nodes: list[str]) -> None:
    """Each might be one of those."""
    world.backend.pods["old"] = STRANGER
    finder = OrphanFinder(world.backend, world.pods.registry, world.health, lambda: frozenset(nodes))
    for _ in range(3):
        await finder.look()
    assert len(world.pods.registry) == 0


def bind_long_ago(world: World, **meta: Any) -> None:
    """By the API server's clock, which is years behind ours."""
    scheduled, *others = (world.look("web") or {})["status"]["conditions"]
    scheduled["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    world.edit("web", metadata=meta, status={"conditions": [scheduled, *others]})


async def test_clocks_that_differ_end_nothing_early(world: World) -> None:
    """Times of the API server are not compared with ours."""
    uid = await world.accept(seconds="3600")
    world.backend.is_down = True
    bind_long_ago(world, deletionTimestamp="2020-01-01T00:00:00Z", deletionGracePeriodSeconds=30)
    await world.polled(5)
    world.pods.queue.add(uid)
    await world.settle()
    assert world.look("web") is not None
    assert not {"LeftAtBackend", "BouncedBack"} & set(world.events)


async def test_an_unsent_pod_is_not_late_by_another_clock(world: World) -> None:
    world.backend.fault = lambda call, _: NoRoom("full") if call == "create" else None
    uid = world.bind("web", seconds="3600")
    bind_long_ago(world)
    await world.until(lambda: world.backend.count("create") >= 2)
    assert world.entry(uid).read_facts(is_answering=True).is_late is False
    assert (world.look("web") or {})["status"]["phase"] == "Pending"
