"""The status of a host pod, from what its backend says; backends may be hostile."""

from typing import Any

import pytest

from nestor.api.contracts.vnode import SENT
from nestor.api.objects import Object, conditions_of
from nestor.overflow.statuses import MESSAGE_LIMIT, REASON_LIMIT
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.status import Ending
from nestor.pods.translate.status import build_patch

NOW, LATER, ADDRESS = "2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z", "10.0.0.7"
RUNNING: Object = {"running": {"startedAt": NOW}}
WAITING: Object = {"waiting": {"reason": "Queued"}}


def ended(code: int) -> Object:
    return {"terminated": {"exitCode": code, "startedAt": NOW, "finishedAt": LATER}}


def build_pod(*, policy: str = "Never", inits: list[Object] | None = None, names: tuple[str, ...] = ("app",)) -> Object:
    """A host pod that was sent."""
    spec: Object = {"restartPolicy": policy, "containers": [{"name": name, "image": f"example/{name}:1"} for name in names]}
    if inits:
        spec["initContainers"] = inits
    pod: Object = {"metadata": {"name": "web", "namespace": "shop", "uid": "u", "generation": 1}, "spec": spec}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": NOW}
    pod["status"] = {"phase": "Pending", "qosClass": "BestEffort", "conditions": [scheduled]}
    pod["status"] = pod["status"] | status.build_sent(pod, ADDRESS, NOW)
    return pod


def said(*states: Object, inits: tuple[Object, ...] = (), names: tuple[str, ...] = ("app", "side"), **others: Any) -> Object:
    mains = [{"name": name, "state": state, "ready": "running" in state} for name, state in zip(names, states, strict=False)]
    first = [{"name": f"init-{index}", "state": state} for index, state in enumerate(inits)]
    return {"containerStatuses": mains, "initContainerStatuses": first, **others}


def words(built: Object) -> dict[str, str]:
    return {item["type"]: item["status"] for item in built["conditions"]}


def test_before_a_pod_is_sent_its_status_says_so() -> None:
    pod = build_pod(names=("app", "side"))
    built = pod["status"]
    assert status.read_mark(pod) == "Sending"
    assert [item["state"]["waiting"]["reason"] for item in built["containerStatuses"]] == ["ContainerCreating"] * 2
    assert [item["image"] for item in built["containerStatuses"]] == ["example/app:1", "example/side:1"]
    assert (built["startTime"], built["hostIP"], built["hostIPs"]) == (NOW, ADDRESS, [{"ip": ADDRESS}])
    assert words(built) | {"PodScheduled": "True", "Ready": "False", "Initialized": "True"} == words(built)


@pytest.mark.parametrize(
    ("condition", "mark"),
    [
        (None, ""),
        ({"type": SENT, "status": "True", "reason": "Sending"}, "Sending"),
        ({"type": SENT, "status": "True", "reason": "Accepted"}, "Accepted"),
        ({"type": SENT, "status": "True", "reason": "SomethingNew"}, "Accepted"),
        ({"type": SENT, "status": "False", "reason": "BouncedBack"}, ""),
    ],
)
def test_the_mark_is_read_back(condition: Object | None, mark: str) -> None:
    assert status.read_mark({"status": {"conditions": [condition] if condition else []}}) == mark


@pytest.mark.parametrize(
    ("policy", "there", "phase"),
    [
        ("Never", {}, "Pending"),
        ("Never", said(WAITING), "Pending"),
        ("Never", said(RUNNING), "Running"),
        ("Never", said(ended(0)), "Succeeded"),
        ("Never", said(ended(3)), "Failed"),
        ("OnFailure", said(ended(0)), "Succeeded"),
        ("OnFailure", said(ended(3)), "Running"),
        ("Always", said(ended(0)), "Running"),
        ("Always", said(RUNNING, WAITING), "Pending"),
        ("Always", said(ended(0), ended(1)), "Running"),
        ("OnFailure", said(ended(0), ended(1)), "Running"),
        ("Never", said(RUNNING, ended(1)), "Running"),
        ("Never", said(ended(0), ended(1)), "Failed"),
        # The pod may end as a whole, without a word about its containers, or against their restart policy.
        ("Always", said(ended(1), phase="Failed", reason="Evicted"), "Failed"),
        ("Always", said(ended(0), phase="Succeeded"), "Succeeded"),
        ("Always", said(ended(1), phase="Succeeded"), "Failed"),
        ("Never", {"phase": "Failed", "reason": "TimeLimit"}, "Failed"),
        # It cannot have ended while a container runs.
        ("Never", said(RUNNING, phase="Succeeded"), "Running"),
        ("Never", said(RUNNING, phase="Failed"), "Running"),
        ("Never", said(ended(3), phase="Succeeded"), "Failed"),
        ("Never", said(RUNNING, phase="Nonsense"), "Running"),
    ],
)
def test_phase(policy: str, there: Object, phase: str) -> None:
    names = tuple(item["name"] for item in there.get("containerStatuses", [{"name": "app"}]))
    assert status.build_report(build_pod(policy=policy, names=names), there, ADDRESS, LATER)["phase"] == phase


@pytest.mark.parametrize(
    ("policy", "inits", "states", "phase", "initialized"),
    [
        ("Never", [{"name": "init-0"}], (RUNNING,), "Pending", "False"),
        ("Never", [{"name": "init-0"}], (ended(0),), "Pending", "True"),
        ("Never", [{"name": "init-0"}], (ended(1),), "Failed", "False"),
        ("Always", [{"name": "init-0"}], (ended(1),), "Pending", "False"),
        ("OnFailure", [{"name": "init-0"}], (ended(1),), "Pending", "False"),
        # Whatever the others say: no init container of such a pod is tried again.
        ("Never", [{"name": "init-0"}, {"name": "init-1"}], (WAITING, ended(1)), "Failed", "False"),
        ("Never", [{"name": "init-0", "restartPolicy": "Always"}], (RUNNING,), "Pending", "True"),
        ("Never", [{"name": "init-0", "restartPolicy": "Always"}], (WAITING,), "Pending", "False"),
        ("Never", [{"name": "init-0", "restartPolicy": "Always"}], (ended(1),), "Pending", "True"),
    ],
)
def test_init_containers(policy: str, inits: list[Object], states: tuple[Object, ...], phase: str, initialized: str) -> None:
    built = status.build_report(build_pod(policy=policy, inits=inits), said(WAITING, inits=states), ADDRESS, LATER)
    assert built["phase"] == phase
    assert words(built)["Initialized"] == initialized


@pytest.mark.parametrize(
    ("policy", "there", "expected"),
    [
        ("Never", {"phase": "Failed"}, True),
        ("Never", {"phase": "Running"}, False),
        ("Never", {}, False),
        ("Never", said(ended(3), phase="Running"), True),
        ("OnFailure", said(ended(3), phase="Running"), False),
        ("Always", said(ended(0), phase="Running"), False),
        ("Never", said(RUNNING, phase="Running"), False),
    ],
)
def test_whether_a_pod_has_ended_there_does_not_depend_on_what_was_written_here(
    policy: str, there: Object, expected: bool
) -> None:
    pod = build_pod(policy=policy)
    gone = status.build_ended(pod, None, Ending("Lost", "gone"), NOW)
    assert [status.has_ended(item, there) for item in (pod, pod | {"status": gone})] == [expected, expected]


def test_why_a_pod_waits_stays_while_it_is_sent_again() -> None:
    pod = build_pod()
    pod["status"] = status.build_waiting(pod, "BackendFull", "no GPU is free", NOW, is_rejected=True)
    pod["status"] = again = status.build_sent(pod, ADDRESS, LATER)
    assert (again["reason"], again["message"]) == ("BackendFull", "no GPU is free")
    assert "reason" not in status.build_report(pod, said(WAITING), ADDRESS, LATER)


def test_a_pod_is_ready_when_its_containers_and_gates_are() -> None:
    pod = build_pod(names=("app", "side"))
    half = {
        "containerStatuses": [
            {"name": "app", "state": RUNNING, "ready": True},
            {"name": "side", "state": RUNNING, "ready": False},
        ]
    }
    built = status.build_report(pod, half, ADDRESS, LATER)
    assert (words(built)["Ready"], words(built)["ContainersReady"]) == ("False", "False")
    pod["spec"]["readinessGates"] = [{"conditionType": "example.org/gate"}]
    built = status.build_report(pod, said(RUNNING, RUNNING), ADDRESS, LATER)
    assert (words(built)["Ready"], words(built)["ContainersReady"]) == ("False", "True")
    pod["status"]["conditions"].append({"type": "example.org/gate", "status": "True", "lastTransitionTime": NOW})
    assert words(status.build_report(pod, said(RUNNING, RUNNING), ADDRESS, LATER))["Ready"] == "True"


@pytest.mark.parametrize(
    ("state", "ready", "reason"),
    [
        (RUNNING, True, None),
        (RUNNING, False, "ContainersNotReady"),
        (ended(0), False, "PodCompleted"),
        (ended(1), False, "PodFailed"),
    ],
)
def test_conditions_follow_from_the_containers(state: Object, ready: bool, reason: str | None) -> None:
    there = said(state)
    there["containerStatuses"][0]["ready"] = ready
    built = status.build_report(build_pod(), there, ADDRESS, LATER)
    found = {item["type"]: (item["status"], item.get("reason")) for item in built["conditions"]}
    word = "True" if ready else "False"
    assert found["Ready"] == found["ContainersReady"] == (word, reason)
    assert found["Initialized"] == ("True", None)


def test_only_a_kubelets_fields_of_the_pods_own_containers_are_taken() -> None:
    there = said(RUNNING, RUNNING, names=("app", "stranger"), qosClass="Guaranteed", nominatedNodeName="n", podIP="10.96.0.1")
    there |= {"podIPs": [{"ip": "10.96.0.1"}], "hostIP": "1.2.3.4", "conditions": [{"type": "evil", "status": "True"}]}
    there["containerStatuses"][0] |= {"volumeMounts": [], "evil": 1}
    built = status.build_report(build_pod(), there, ADDRESS, LATER)
    assert [item["name"] for item in built["containerStatuses"]] == ["app"]
    assert "evil" not in built["containerStatuses"][0] | words(built)
    assert built["hostIP"] == ADDRESS
    assert not built.keys() & {"podIP", "podIPs", "qosClass", "nominatedNodeName"}


@pytest.mark.parametrize(
    "nonsense",
    [
        {"containerStatuses": None},
        {"containerStatuses": "app"},
        {"containerStatuses": [None, 7, {}, {"name": 7}, {"name": ["app"]}]},
        {"containerStatuses": [{"name": "app", "state": []}]},
        {"containerStatuses": [{"name": "app", "state": {"running": "yes"}}]},
        {"containerStatuses": [{"name": "app", "state": {"running": {"startedAt": "yesterday"}}, "restartCount": -1}]},
        {"containerStatuses": [{"name": "app", "state": {"running": {"startedAt": 7}}, "restartCount": True}]},
        {"containerStatuses": [{"name": "app", "state": {"terminated": {"exitCode": "0"}}, "restartCount": 2**40}]},
        {"containerStatuses": [{"name": "app", "image": {"a": 1}, "imageID": [], "containerID": 7, "state": {"waiting": {}}}]},
        {"phase": ["Failed"], "reason": 7, "message": {}, "conditions": "x"},
        {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": 7}, None]},
    ],
)
def test_nonsense_does_no_harm(nonsense: Object) -> None:
    built = status.build_report(build_pod(), nonsense, ADDRESS, LATER)
    (item,) = built["containerStatuses"]
    assert 0 <= item["restartCount"] < 2**31
    assert len(item["state"]) == 1
    assert all(isinstance(item[key], str) for key in ("name", "image", "imageID"))
    for state in item["state"].values():
        assert all(
            isinstance(state.get(key, NOW), str) and state.get(key, NOW)[:2] == "20" for key in ("startedAt", "finishedAt")
        )


def test_texts_are_cut_and_plain() -> None:
    long, colored = "x" * 10_000, "\x1b[31mred\x00\nline"
    there = said({"waiting": {"reason": long, "message": colored}}, phase="Pending", reason=long, message=long)
    built = status.build_report(build_pod(), there, ADDRESS, LATER)
    assert len(built["reason"]) == REASON_LIMIT
    assert len(built["message"]) == MESSAGE_LIMIT
    waiting = built["containerStatuses"][0]["state"]["waiting"]
    assert len(waiting["reason"]) == REASON_LIMIT
    assert waiting["message"] == "[31mred \nline"


def test_why_another_cluster_does_not_place_the_pod() -> None:
    delayed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes: no GPU"}
    built = status.build_report(build_pod(), {"phase": "Pending", "conditions": [delayed]}, ADDRESS, LATER)
    assert (built["reason"], built["message"]) == ("Unschedulable", "0/3 nodes: no GPU")


@pytest.mark.parametrize(("word", "is_told"), [("True", True), ("False", False)])
def test_a_pod_that_another_cluster_evicts_is_no_failure_of_its_own(word: str, is_told: bool) -> None:
    evicted = {"type": "DisruptionTarget", "status": word, "reason": "TerminationByKubelet", "message": "low on memory\x00"}
    there = said(ended(137), phase="Failed", reason="Evicted", conditions=[evicted])
    pod = build_pod()
    for built in (
        status.build_report(pod, there, ADDRESS, LATER),
        status.build_ended(pod, there, Ending("Deleted", "deleted"), LATER),
    ):
        assert (built["phase"], built["reason"]) == ("Failed", "Evicted")
        found = [item for item in built["conditions"] if item["type"] == "DisruptionTarget"]
        assert [(item["reason"], item["message"]) for item in found] == [("TerminationByKubelet", "low on memory")] * is_told


def test_what_has_ended_for_good_stays_ended() -> None:
    pod = build_pod(names=("app", "side"))
    pod["status"] |= status.build_report(pod, said(ended(3), RUNNING), ADDRESS, NOW)
    built = status.build_report(pod, said(RUNNING, RUNNING), ADDRESS, LATER)
    assert built["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_restarted_container_may_run_again() -> None:
    pod = build_pod(policy="OnFailure")
    pod["status"] |= status.build_report(pod, said(ended(3)), ADDRESS, NOW)
    there = said(RUNNING)
    there["containerStatuses"][0] |= {"restartCount": 1, "lastState": ended(3)}
    (item,) = status.build_report(pod, there, ADDRESS, LATER)["containerStatuses"]
    assert (item["restartCount"], "running" in item["state"], "terminated" in item["lastState"]) == (1, True, True)


def test_a_status_that_does_not_change_is_not_written() -> None:
    pod = build_pod()
    pod["status"] |= status.build_report(pod, said(RUNNING), ADDRESS, NOW)
    assert build_patch(pod, status.build_report(pod, said(RUNNING), ADDRESS, LATER)) is None


def test_a_transition_has_its_own_time() -> None:
    pod = build_pod()
    pod["status"] |= status.build_report(pod, said(WAITING), ADDRESS, NOW)
    built = status.build_report(pod, said(RUNNING), ADDRESS, LATER)
    times = {item["type"]: item["lastTransitionTime"] for item in built["conditions"]}
    assert (times["Ready"], times["PodScheduled"], times[SENT]) == (LATER, NOW, NOW)


@pytest.mark.parametrize(
    ("state", "started"),
    [(WAITING, False), (RUNNING, True), (ended(0), True), ({"waiting": {"reason": "CrashLoopBackOff"}}, False)],
)
def test_what_counts_as_started(state: Object, started: bool) -> None:
    assert status.has_started(build_pod(), said(state)) is started
    assert status.has_started(build_pod(), {"containerStatuses": [{"name": "app", "state": WAITING, "lastState": state}]}) is (
        started and "waiting" not in state
    )


@pytest.mark.parametrize("disrupted", [True, False])
def test_a_pod_that_runs_nowhere_any_more_fails(disrupted: bool) -> None:
    pod = build_pod()
    pod["status"] |= status.build_report(pod, said(RUNNING), ADDRESS, NOW)
    built = status.build_ended(pod, None, Ending("BackendLost", "gone", is_disrupted=disrupted), LATER)
    assert (built["phase"], built["reason"], built["message"]) == ("Failed", "BackendLost", "gone")
    assert built["containerStatuses"][0]["state"]["terminated"] == {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "gone",
        "startedAt": NOW,
        "finishedAt": LATER,
    }
    assert words(built)["Ready"] == "False"
    assert (words(built).get("DisruptionTarget") == "True") is disrupted
    assert status.read_mark({"status": built}) == ""


def test_a_deleted_pod_keeps_how_it_has_ended() -> None:
    pod = build_pod()
    built = status.build_ended(pod, said(ended(0)), Ending("Deleted", "deleted"), LATER)
    assert built["phase"] == "Succeeded"
    assert "reason" not in built
    assert built["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_pod_that_may_still_run_stays_marked() -> None:
    pod = build_pod()
    pod["status"] |= status.build_report(pod, said(RUNNING), ADDRESS, NOW)
    built = status.build_ended(pod, None, Ending("Deleted", "unknown", is_gone=False), LATER)
    assert status.read_mark({"status": built}) == "Accepted"


@pytest.mark.parametrize(("is_rejected", "mark"), [(True, ""), (False, "Sending")])
def test_a_waiting_pod_says_why(is_rejected: bool, mark: str) -> None:
    pod = build_pod()
    built = status.build_waiting(pod, "BackendFull", "no GPU left", LATER, is_rejected=is_rejected)
    assert (built["phase"], built["reason"], built["message"]) == ("Pending", "BackendFull", "no GPU left")
    assert "qosClass" not in built
    assert status.read_mark({"status": built}) == mark
    assert len(conditions_of({"status": built})) == len(conditions_of(pod))


SCHEDULED: Object = {"type": "PodScheduled", "status": "True"}
UNSCHEDULABLE: Object = SCHEDULED | {"status": "False", "reason": "Unschedulable"}


def wait(reason: str, *conditions: Object) -> Object:
    return {"conditions": list(conditions), "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": reason}}}]}


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({}, True),
        (wait("Queued"), True),
        (wait("ContainerCreating", UNSCHEDULABLE), True),
        (wait("ContainerCreating", SCHEDULED), False),
        (wait("ImagePullBackOff", SCHEDULED), False),
        (wait("ImagePullBackOff"), False),
        ({"initContainerStatuses": wait("ErrImagePull")["containerStatuses"]}, False),
        ({"conditions": "x", "containerStatuses": [1, {"state": 2}, {"state": {"waiting": 3}}]}, True),
    ],
)
def test_what_waits_for_itself_does_not_wait_for_room(there: Object, expected: bool) -> None:
    assert status.lacks_room(there) is expected


DEBUG = {"name": "debug", "image": "example/debug:1"}


def test_a_debug_container_has_a_status_and_does_not_count_for_the_pod() -> None:
    pod = build_pod()
    pod["spec"]["ephemeralContainers"] = [DEBUG]
    built = status.build_report(pod, said(RUNNING), ADDRESS, NOW)
    assert built["ephemeralContainerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert (built["phase"], words(built)["Ready"]) == ("Running", "True")
    pod["status"] = built
    there = said(RUNNING, ephemeralContainerStatuses=[{"name": "debug", "state": ended(1)}, {"name": "other", "state": RUNNING}])
    pod["status"] = built = status.build_report(pod, there, ADDRESS, NOW)
    (item,) = built["ephemeralContainerStatuses"]
    assert item["state"]["terminated"]["exitCode"] == 1
    assert (built["phase"], words(built)["Ready"]) == ("Running", "True")
    # API servers let none run again.
    there = said(RUNNING, ephemeralContainerStatuses=[{"name": "debug", "state": RUNNING}])
    assert status.build_report(pod, there, ADDRESS, LATER)["ephemeralContainerStatuses"] == [item]


@pytest.mark.parametrize(
    ("said_of_it", "expected"),
    [
        ({"requests": {"cpu": "3", "memory": "1Gi"}, "limits": {"cpu": "2"}}, {"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}),
        # Quotas count them: they cannot be more than what was and what is asked for, nor less.
        ({"requests": {"cpu": "1E"}, "limits": {"cpu": "0"}}, {"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}),
        ({}, {}),
        ({"requests": {"cpu": "many"}, "limits": {"cpu": 2}}, {}),
        ({"requests": {"cpu": "1" * 100}, "limits": ["cpu"]}, {}),
        ({"requests": {"cpu": "-1"}}, {}),
        (["requests"], None),
        (None, None),
    ],
)
def test_the_resources_in_force_are_those_that_the_container_asks_for(said_of_it: Any, expected: Object | None) -> None:
    pod = build_pod()
    two = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    pod["spec"]["containers"][0]["resources"] = two
    first = said(RUNNING)
    first["containerStatuses"][0]["resources"] = two
    pod["status"] = status.build_report(pod, first, ADDRESS, NOW)
    assert pod["status"]["containerStatuses"][0]["resources"] == two
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}
    there = said(RUNNING)
    there["containerStatuses"][0]["resources"] = said_of_it
    (item,) = status.build_report(pod, there, ADDRESS, NOW)["containerStatuses"]
    assert item.get("resources") == expected


def test_a_resize_that_waits_is_told_until_it_is_done() -> None:
    pod = build_pod()
    waits = {"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "too large"}
    pod["status"] = pod["status"] | status.build_report(pod, said(RUNNING, conditions=[waits]), ADDRESS, NOW)
    (found,) = [item for item in conditions_of(pod) if item["type"] == "PodResizePending"]
    assert found == waits | {"lastTransitionTime": NOW}
    again = status.build_report(pod, said(RUNNING, conditions=[waits]), ADDRESS, LATER)
    assert found in again["conditions"]
    over = status.build_report(pod, said(RUNNING), ADDRESS, LATER)
    assert "PodResizePending" not in words(over)
    patch = build_patch(pod, over)
    assert patch is not None
    assert {"type": "PodResizePending", "$patch": "delete"} in patch["status"]["conditions"]
