"""The statuses of pods in another cluster, as a kubelet of the host would have set them."""

import copy
import datetime
from typing import Any

import pytest

from nestor.api import names, times
from nestor.api.objects import Object
from nestor.overflow.remote import reduce
from nestor.overflow.vnode.pods import status as vnode
from tests.fakes.cluster import STARTED, build_running
from tests.unit.overflow.remote.conftest import build_pod

NOW = times.read(STARTED) + datetime.timedelta(hours=1)
KUBELET = {
    "phase",
    "reason",
    "message",
    "startTime",
    "conditions",
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
}


def read(own: Object, pod: Object | None = None, **meta: Any) -> Object:
    host = pod or build_pod()
    there = {"metadata": {"name": "there", **meta}, "spec": host["spec"], "status": copy.deepcopy(own)}
    return reduce.build_status(host, there, reduce.build_words(host, "far"), NOW)


def report(own: Object, **meta: Any) -> Object:
    pod = build_pod(restartPolicy="Never")
    pod["status"] = {"conditions": []}
    pod["status"] = vnode.build_report(pod, read(build_running(pod), pod), "10.0.0.7", STARTED)
    return vnode.build_report(pod, read(own, pod, **meta), "10.0.0.7", STARTED)


def conditions(built: Object) -> dict[str, str]:
    return {item["type"]: item["status"] for item in built["conditions"]}


def unready(own: Object) -> Object:
    """As a node controller leaves a pod whose node is lost."""
    found = [item | {"status": "False"} if item["type"] == "Ready" else item for item in own["conditions"]]
    return own | {"conditions": found}


def test_only_a_kubelets_fields_are_taken() -> None:
    """No addresses either: they are of another network."""
    own = build_running(build_pod()) | {"nominatedNodeName": "x", "resourceClaimStatuses": [], "podIPs": [{"ip": "10.9.9.9"}]}
    own["containerStatuses"].append({"name": "injected", "state": {}})
    found = read(own)
    assert found.keys() <= KUBELET
    assert [item["name"] for item in found["containerStatuses"]] == ["app"]
    assert read(own) == found


def test_debug_containers_and_resources_in_force_are_told() -> None:
    pod = build_pod(container={"resources": {"requests": {"cpu": "2"}}}, ephemeralContainers=[{"name": "debug", "image": "x"}])
    own = build_running(pod)
    own["containerStatuses"][0]["resources"] = {"requests": {"cpu": "2", "memory": "1Gi"}}
    own["ephemeralContainerStatuses"] = [{"name": name, "state": {"running": {}}} for name in ("debug", "of-somebody-else")]
    own["conditions"].append({"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room yet"})
    found = vnode.build_report(pod | {"status": {}}, read(own, pod), "10.0.0.7", STARTED)
    (debug,) = found["ephemeralContainerStatuses"]
    assert (debug["name"], debug["state"]) == ("debug", {"running": {}})
    assert found["containerStatuses"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert conditions(found)["PodResizePending"] == "True"


def test_a_pod_that_nobody_has_looked_at_is_pending() -> None:
    assert read({})["phase"] == "Pending"


def test_texts_have_the_owners_names() -> None:
    there, copied = names.remote_pod("web", "host-uid"), names.remote_input("keys", "host-uid")
    own = build_running(build_pod()) | {"message": f"pod {there} is slow"}
    own["conditions"][0]["message"] = f'secret "{copied}" not found'
    own["containerStatuses"][0]["state"] = {"waiting": {"reason": "X", "message": f"back-off of {there}"}}
    found = read(own, build_pod(volumes=[{"name": "v", "secret": {"secretName": "keys"}}]))
    assert found["message"] == "pod web is slow"
    assert found["conditions"][0]["message"] == 'secret "keys" not found'
    assert found["containerStatuses"][0]["state"]["waiting"]["message"] == "back-off of web"


def test_an_eviction_is_one_here_as_well() -> None:
    """Kubelets of some versions leave the containers as they were."""
    evicted = build_running(build_pod()) | {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}
    evicted["conditions"].append({"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"})
    items: list[Object]
    for items in (evicted["containerStatuses"], []):
        built = report(evicted | {"containerStatuses": items})
        assert (built["phase"], built["reason"], built["message"]) == ("Failed", "Evicted", "The node was low on memory")
        assert conditions(built)["DisruptionTarget"] == "True"
        assert built["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_init_containers_of_a_failed_pod_do_not_run_on() -> None:
    pod = build_pod(initContainers=[{"name": "first", "image": "x"}, {"name": "second", "image": "x"}])
    first = {"name": "first", "state": {"running": {"startedAt": STARTED}}}
    second = {"name": "second", "state": {"waiting": {"reason": "PodInitializing"}}}
    found = read({"phase": "Failed", "initContainerStatuses": [first, second]}, pod)
    assert [list(item["state"]) for item in found["initContainerStatuses"]] == [["terminated"], ["waiting"]]


def test_a_pod_on_a_node_that_does_not_answer_is_not_ready() -> None:
    built = report(unready(build_running(build_pod())))
    assert (built["phase"], built["reason"]) == ("Running", reduce.NODE_LOST)
    assert conditions(built)["Ready"] == "False"


def test_a_pod_that_is_not_ready_by_itself_is_on_no_lost_node() -> None:
    own = build_running(build_pod())
    for item in own["conditions"]:
        item["status"] = "False"
    assert "reason" not in read(own)


@pytest.mark.parametrize(("seconds", "is_lost"), [(reduce.LOST_SECONDS - 1, False), (reduce.LOST_SECONDS + 1, True)])
def test_a_pod_that_its_cluster_gives_up_with_its_node_fails(seconds: float, is_lost: bool) -> None:
    due = times.write(NOW - datetime.timedelta(seconds=seconds))
    built = report(unready(build_running(build_pod())), deletionTimestamp=due)
    assert (built["phase"] == "Failed", conditions(built).get("DisruptionTarget") == "True") == (is_lost, is_lost)
    if is_lost:
        assert built["containerStatuses"][0]["state"]["terminated"]["finishedAt"] == due
        assert built["reason"] == reduce.NODE_LOST


def test_a_pod_that_takes_long_to_end_on_a_healthy_node_is_not_lost() -> None:
    due = times.write(NOW - datetime.timedelta(days=1))
    assert report(build_running(build_pod()), deletionTimestamp=due)["phase"] == "Running"


def test_a_lost_pods_status_does_not_change_from_look_to_look() -> None:
    due = times.write(NOW - datetime.timedelta(days=1))
    own = unready(build_running(build_pod()))
    there = {"metadata": {"name": "there", "deletionTimestamp": due}, "status": own}
    later = NOW + datetime.timedelta(seconds=5)
    found = [reduce.build_status(build_pod(), copy.deepcopy(there), {}, now) for now in (NOW, later)]
    assert found[0] == found[1]
