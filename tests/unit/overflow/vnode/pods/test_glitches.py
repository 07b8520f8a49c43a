"""Backends that hide pods, forget requests or come back late: no healthy pod is failed, and nothing is left."""

import asyncio
import itertools
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Forbidden, kinds
from nestor.kube.pace import Rate
from nestor.overflow.vnode.backend import health
from nestor.overflow.vnode.pods import create, decide, poll, writer
from nestor.overflow.vnode.pods import entry as entries
from nestor.overflow.vnode.pods.entry import Home
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, ProviderError, Rejected, Unreachable
from tests.unit.overflow.vnode.world import NODE, SPACE, World, living


async def test_a_backend_that_comes_back_empty_has_a_minute_to_remember(world: World) -> None:
    """It hides the pod once before it goes away for long, and again right after: a restart, as many backends do it."""
    uid = await world.run()
    hidden = world.backend.pods.pop(uid)
    await world.until(lambda: world.entry(uid).missing_since is not None)
    world.backend.is_down = True
    await world.polled()
    assert world.entry(uid).missing_since is None
    # Had the time of its silence counted, this would be due at once.
    for entry in world.pods.registry:
        entry.seen -= 3600
    world.backend.is_down = False
    await world.polled()
    assert world.backend.count("get") == 0
    assert (world.look("web") or {})["status"]["phase"] == "Running"
    world.backend.pods[uid] = hidden
    world.backend.end(uid)
    await world.phase("web", "Succeeded")


async def test_a_pod_that_was_given_up_and_comes_back_is_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = await world.run()
    monkeypatch.setattr(decide, "LOST_SECONDS", 0.1)
    hidden = world.backend.pods.pop(uid)
    assert (await world.phase("web", "Failed"))["reason"] == "BackendLost"
    world.backend.pods[uid] = hidden
    await world.until(lambda: uid not in world.backend.pods)
    assert world.backend.count("delete") <= 2  # when it is given up, and once it is back
    assert (world.look("web") or {})["status"]["phase"] == "Failed"


async def test_a_pod_that_is_given_up_is_asked_to_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend says nothing of it, and may run it all the same."""
    uid = await world.run()
    monkeypatch.setattr(decide, "LOST_SECONDS", 0.1)

    async def say_nothing(_: object) -> Object:
        return {}

    monkeypatch.setattr(world.backend, "statuses", say_nothing)
    world.backend.fault = lambda call, _: NotFound("no such pod") if call == "get" else None
    assert (await world.phase("web", "Failed"))["reason"] == "BackendLost"
    await world.until(lambda: uid not in world.backend.pods)


async def test_a_pod_that_was_given_up_is_asked_to_end_when_it_is_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a process that knows of it only from its status."""
    uid = await world.run()
    with monkeypatch.context() as patched:
        patched.setattr(decide, "LOST_SECONDS", 0.1)
        hidden = world.backend.pods.pop(uid)
        await world.phase("web", "Failed")
        await world.stop()
    await world.start()
    await world.until(lambda: world.entry(uid).missing_since is not None)
    world.backend.pods[uid] = hidden
    world.delete("web")
    await world.phase("web", None)
    assert uid not in world.backend.pods


async def test_a_backend_whose_phase_lags_behind_its_containers_keeps_what_has_ended(world: World) -> None:
    """Kubelets write that all containers have ended before they write that the pod has."""
    uid = await world.accept()
    world.backend.end(uid, code=3)
    world.backend.pods[uid]["status"]["phase"] = "Running"
    await world.phase("web", "Failed")
    world.bind("other")
    await world.polled()
    assert world.backend.count("delete") == 0
    assert uid in world.backend.pods


async def test_what_was_given_up_is_asked_about_rarely(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some backends answer with an error if they do not know one of the pods."""
    uid = await world.run()
    with monkeypatch.context() as patched:
        patched.setattr(decide, "LOST_SECONDS", 0.1)
        world.backend.finish(uid)
        await world.phase("web", "Failed")
    await world.settle()
    world.entry(uid).missing_since = time.monotonic()
    begin = world.poller.calls
    for _ in range(5):
        await world.poller.ask()
    assert world.poller.calls == begin


async def test_a_request_to_end_that_a_backend_forgets_is_repeated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "REPEAT_SECONDS", 0.2)
    uid = await world.run()
    held, left = world.backend.pods[uid], [2]

    def forget(call: str, _: Object) -> Exception | None:
        left[0] -= call == "delete"
        if call == "delete" and left[0] >= 0:
            world.backend.pods[uid] = held
        return None

    world.backend.lost = forget
    world.delete("web", grace=0)
    await world.phase("web", None)
    assert world.backend.count("delete") == 3
    assert uid not in world.backend.pods


@pytest.mark.parametrize("error", [NotYet("ConfigMap 'settings' does not exist"), InvalidInput("spec.hostNetwork: no")])
async def test_pods_that_lack_something_do_not_make_a_backend_look_well(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """They are refused before anything is asked: that is no sign of life."""
    await world.accept(restartPolicy="Always")
    monkeypatch.setattr(health, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.0)
    world.backend.fault = lambda call, _: error if call == "create" else Unreachable("refused")
    world.bind("other", restartPolicy="Always")
    await world.until(lambda: not world.health.is_answering)


async def test_a_process_beside_another_one_takes_no_pod_for_new_that_the_other_has_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine of the first one was given up, though it still works. A pod that is not new is asked about first."""
    fresh, create_one = Counter[str](), world.backend.create

    async def note(pod: Object, inputs: Inputs | None = None) -> Object:
        fresh[pod["metadata"]["uid"]] += bool(inputs and inputs.is_new)
        return await create_one(pod, inputs)

    monkeypatch.setattr(world.backend, "create", note)
    other = World()
    other.api, other.backend = world.api, world.backend
    await other.start()
    try:
        uids = {world.bind(f"web-{index}") for index in range(20)}
        await world.until(lambda: world.backend.pods.keys() == uids)
        for index in range(20):
            await world.mark(f"web-{index}", "Accepted")
        assert fresh == dict.fromkeys(uids, 1)
    finally:
        await other.stop()


async def test_a_late_pod_that_may_still_arrive_is_ended_before_it_is_taken_back(world: World) -> None:
    """The answer to its creation was lost, and the backend does not show it yet."""
    arrives = [True]
    hidden: dict[str, Object] = {}

    def hide(call: str, pod: Object) -> Exception | None:
        uid = pod["metadata"]["uid"]
        if call == "create":
            hidden[uid] = world.backend.pods.pop(uid)
            return NotYet("not said yet")
        if call == "delete" and uid in hidden:
            if arrives[0]:
                return NotYet("it may still be about to start")
            del hidden[uid]
        return None

    world.backend.lost = hide
    uid = world.bind("web", seconds="1")
    await world.until(lambda: world.backend.count("delete"))
    assert (world.look("web") or {})["status"]["phase"] == "Pending"
    arrives[0] = False
    assert (await world.phase("web", "Failed"))["reason"] == "BouncedBack"
    assert uid not in hidden


async def test_a_pod_that_is_gone_before_it_was_sent_is_not_sent(world: World) -> None:
    """The watch does not say so yet. Nobody could note that it was sent."""
    world.api.hold(kinds.POD)
    uid = world.bind("web")
    world.api.release(kinds.POD)
    world.api.fault = lambda verb, what: drop(world) if verb == "PATCH" and what.startswith("pods") else None
    world.api.hold(kinds.POD)
    await world.until(lambda: any(item.startswith("PATCH pods") for item in world.api.asked))
    await world.settle()
    assert world.backend.count("create") == 0
    world.api.release(kinds.POD)
    await world.until(lambda: world.pods.registry.get(uid) is None)
    assert world.backend.count("create") == 0


def drop(world: World) -> None:
    if world.look("web") is not None:
        world.api.drop(kinds.POD, "web", SPACE)


@pytest.mark.parametrize("takes_events", [True, False])
async def test_what_may_be_left_is_named(world: World, monkeypatch: pytest.MonkeyPatch, takes_events: bool) -> None:
    """The job is deleted, perhaps with its namespace, and the backend is gone: bounded. When that is back, the pod is ended."""
    uid = await world.run()
    world.backend.is_down = True
    monkeypatch.setattr(decide, "FORGET_SECONDS", -31.0)
    ending = Forbidden(403, "Forbidden", "because it is being terminated")
    refused = () if takes_events else (SPACE,)
    world.api.refusal = lambda verb, body: ending if verb == "POST" and body["metadata"].get("namespace") in refused else None
    world.delete("web")
    await world.phase("web", None)
    assert world.events.count("LeftAtBackend") == 1 + takes_events
    event = world.event("LeftAtBackend")
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Node", NODE)
    assert f"pod {SPACE}/web" in event["message"]
    assert uid in event["message"]
    assert uid in world.backend.pods
    world.backend.is_down = False
    await world.until(lambda: uid not in world.backend.pods)
    await world.until(lambda: len(world.pods.registry) == 0)


@pytest.mark.parametrize("has_node", [True, False])
async def test_a_pod_deleted_by_force_is_named_if_its_end_is_not_confirmed(
    world: World, monkeypatch: pytest.MonkeyPatch, has_node: bool
) -> None:
    """Its host pod is gone at once. It is named once, and asked to end on; by another node if its own is gone."""
    uid = await world.run()
    world.backend.is_down = True
    monkeypatch.setattr(decide, "FORGET_SECONDS", -1.0)
    if not has_node:
        world.entry(uid).home = Home("gone", "default", cast(Any, None))
    world.api.drop(kinds.POD, "web", SPACE)
    await world.until(lambda: world.entry(uid).is_named)
    assert world.event("LeftAtBackend")["involvedObject"]["name"] == (NODE if has_node else "gone")
    assert uid in world.message("LeftAtBackend")
    world.pods.queue.add(uid)
    await world.settle()
    world.backend.is_down = False
    world.pods.queue.add(uid)
    await world.until(lambda: uid not in world.backend.pods)
    assert world.events.count("LeftAtBackend") == 1


async def test_a_node_that_goes_does_not_take_what_is_still_to_be_ended_along(world: World) -> None:
    uid = await world.run()
    world.backend.is_down = True
    world.api.drop(kinds.POD, "web", SPACE)
    await world.until(lambda: world.entry(uid).pod is None)
    world.pods.registry.leave(NODE)
    world.backend.is_down = False
    world.backend.fault = lambda call, _: Unreachable("busy") if call == "statuses" else None
    world.pods.queue.add(uid)
    await world.until(lambda: uid not in world.backend.pods)


async def test_a_node_that_goes_ends_no_pod(world: World) -> None:
    """The pods of a Node that vanished by mistake are there again with it."""
    uid = await world.run()
    world.pods.registry.leave(NODE)
    await world.settle()
    assert uid in world.backend.pods
    assert world.backend.count("delete") == 0


async def test_a_backend_that_says_something_else_each_time_causes_few_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write stores the whole pod, and API servers keep what was before for five minutes."""
    monkeypatch.setattr(writer, "POD_WRITES", Rate(per_second=0.001, burst=6))
    async with living() as world:
        uid = await world.run()
        number = itertools.count()

        def change(call: str, _: Object) -> None:
            if call == "statuses" and uid in world.backend.pods:
                world.backend.pods[uid]["status"]["containerStatuses"][0]["imageID"] = f"image-{next(number)}"

        world.backend.fault = change
        await world.polled(20)
        assert sum(item.startswith("PATCH pods") for item in world.api.asked) <= 6
        world.backend.fault = lambda _, __: None
        world.backend.end(uid)
        await world.phase("web", "Succeeded")


async def test_all_pods_together_are_written_at_a_pace_and_none_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WRITES", Rate(per_second=50, burst=4))
    async with living() as world:
        uids = [world.bind(f"web-{number}") for number in range(10)]
        for number, uid in enumerate(uids):
            await world.mark(f"web-{number}", "Accepted")
            world.backend.run(uid)
        for number in range(10):
            await world.phase(f"web-{number}", "Running")
        assert world.backend.starts == dict.fromkeys(uids, 1)
        assert len(world.events) < 10


async def test_a_backend_that_refuses_in_other_words_each_time_causes_one_event(world: World) -> None:
    number = itertools.count()
    world.backend.fault = lambda call, _: InvalidInput(f"refused {next(number)} times") if call == "create" else None
    world.bind("web", restartPolicy="Always")
    await world.until(lambda: world.backend.count("create") >= 5)
    assert world.events.count("BackendRefused") == 1
    status = await world.phase("web", "Pending")
    assert status["message"].startswith("refused")


async def test_a_backend_that_goes_on_saying_no_has_refused_the_pod(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.backend.fault = lambda call, _: Rejected("no such partition") if call == "create" else None
    uid = world.bind("web")
    await world.until(lambda: world.backend.count("create") >= 2)
    assert (await world.phase("web", "Pending"))["message"] == "no such partition"
    monkeypatch.setattr(create, "PATIENCE_SECONDS", 0.0)
    status = await world.phase("web", "Failed")
    assert (status["reason"], status["message"]) == ("BackendRefused", "no such partition")
    assert uid not in world.backend.pods


async def test_a_deletion_that_fails_is_repeated_at_a_pace_however_often_the_backend_is_asked(world: World) -> None:
    uid = await world.run()
    world.backend.fault = lambda call, _: ProviderError("panic") if call == "delete" else None
    world.backend.pods.pop(uid)
    world.delete("web")
    await world.until(lambda: world.backend.count("delete") >= 2)
    await world.polled(20)
    assert world.backend.count("delete") < 6


async def test_a_pod_of_which_the_backend_says_nothing_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = await world.run()
    monkeypatch.setattr(decide, "LOST_SECONDS", 0.1)
    world.backend.fault = lambda call, _: NotYet("says nothing") if call == "get" else None
    hidden = world.backend.pods.pop(uid)
    await world.until(lambda: "BackendSilent" in world.events)
    assert (world.look("web") or {})["status"]["phase"] == "Running"
    world.backend.pods[uid] = hidden
    await world.until(lambda: world.entry(uid).missing_since is None)


def test_the_time_of_refusals_does_not_run_through_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    found, now, said = entries.build_entry(Home(NODE, "", cast(Any, None)), {}), [1000.0], []
    monkeypatch.setattr(entries, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for pause in (0, 60, 60, 1000, 60):
        now[0] += pause
        said.append(found.note_rejected(120))
    assert said == [0, 60, 120, 0, 60]


@pytest.mark.parametrize(("took", "pause"), [(0.1, 1.0), (2.0, 8.0), (15.0, 15.0)])
async def test_a_slow_answer_begets_a_pause_with_a_limit(took: float, pause: float, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, took])

    async def sleep(seconds: float) -> None:
        assert seconds == pause
        raise asyncio.CancelledError

    monkeypatch.setattr(poll, "time", SimpleNamespace(monotonic=times.__next__))
    monkeypatch.setattr(poll, "asyncio", SimpleNamespace(sleep=sleep))
    with pytest.raises(asyncio.CancelledError):
        await poll.StatusPoller(cast(Any, None), cast(Any, []), health.Health(), 1.0, print).run()
