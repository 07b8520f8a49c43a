"""When gangs are let go, and where to: tables of gangs, nodes and times."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api.data import read, write
from nestor.api.nestedcluster import GANGS_LIMIT
from nestor.api.observed import GangStatus
from nestor.api.placement import Placement
from nestor.operator.guests.gangs import decide as decisions
from nestor.operator.guests.gangs.decide import Rooms, advance, decide, is_waiting_for_room
from nestor.operator.guests.gangs.observe import Seen, find_gangs, list_places
from nestor.pods.translate.gang_room import find_effort
from tests.unit.operator.builders import NOW, Object, ago
from tests.unit.operator.guests.gangs.builders import HOME, RULES, held, member, node, rooms, seen

OWN = node("own", "2")
HPC = node("link", "4", "hpc")
CLOUD = node("far", "8", "cloud")


def one(gang: Seen, there: Rooms | None) -> GangStatus:
    (found,) = decide([gang], there, NOW)[(HOME, "hello")]
    return found


def waiting(number: int = 1, **more: Any) -> GangStatus:
    return read(GangStatus, {"name": "a", "state": "Waiting", "round": number, "since": ago(500)} | more)


def released(seconds: float, place: str = "hpc", **more: Any) -> GangStatus:
    nodes = [{"key": "nestor.dev/backend", "operator": "In", "values": [place]}]
    return read(GangStatus, {"name": "a", "state": "Released", "place": place, "nodes": nodes, "since": ago(seconds)} | more)


@pytest.mark.parametrize(
    ("nodes", "place"),
    [
        ([node("own", "3")], "host"),
        ([node("own", "2"), node("own-2", "1")], "host"),
        # The host cluster's own nodes first, then the preferred backend.
        ([node("own", "3"), HPC, CLOUD], "host"),
        ([OWN, HPC, CLOUD], "cloud"),
        ([OWN, HPC], "hpc"),
        # All in one place, or none, however much there is together.
        ([OWN, node("link", "2", "hpc"), node("far", "2", "cloud")], ""),
        ([OWN], ""),
        ([], ""),
    ],
)
def test_a_gang_goes_to_the_first_place_that_has_room_for_all_of_it(nodes: list[Object], place: str) -> None:
    found = one(seen("a", *held("a", 3)), rooms(*nodes))
    assert (found.state, found.place) == ("Released" if place else "Waiting", place)


def test_why_it_waits_is_said_place_by_place() -> None:
    found = one(seen("a", *held("a", 3)), rooms(OWN, node("link", "1", "hpc")))
    assert found.message == (
        "no place has room for all 3 pods of gang 'shop/a': the host cluster for 2, backend 'cloud' for 0, backend 'hpc' for 1"
    )
    gone = one(seen("a", *held("a", 3)), rooms(HPC))
    assert gone.message == "backend 'hpc' has room for all 3 pods of gang 'shop/a'"
    assert [write(item) for item in gone.nodes] == [{"key": "nestor.dev/backend", "operator": "In", "values": ["hpc"]}]


def test_a_pod_of_it_may_be_barred_from_a_place() -> None:
    barred = member("a", 2, nodeSelector={"nestor.dev/backend": "hpc"})
    assert one(seen("a", *held("a", 2), barred), rooms(node("own", "9"), HPC)).place == "hpc"


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        (held("a", 2), "only 2 of the 3 pods of gang 'shop/a' exist"),
        ([*held("a", 2), member("a", 2, released=1, node="own", phase="Running")], "from its last attempt still run"),
    ],
)
def test_it_is_not_let_go_before_it_is_complete(pods: list[Object], message: str) -> None:
    gang = seen("a", *pods, entry=waiting(2))
    assert not is_waiting_for_room(gang, NOW)
    found = one(gang, rooms(node("own", "99")))
    assert found.state == "Waiting"
    assert message in found.message


def test_pods_beyond_its_size_need_no_room() -> None:
    assert one(seen("a", *held("a", 5)), rooms(node("own", "3"))).state == "Released"


def test_pods_that_are_being_deleted_do_not_count() -> None:
    pods = held("a", 3)
    pods[0]["metadata"]["deletionTimestamp"] = ago(1)
    assert "only 2" in one(seen("a", *pods), rooms(node("own", "99"))).message


def test_two_gangs_do_not_hold_each_other_and_the_older_one_is_first_in_whichever_cluster() -> None:
    young, old = seen("a", *held("a", 3, age=10)), seen("b", *held("b", 3, age=20, home="other"), home="other")
    decided = decide([young, old], rooms(node("own", "5")), NOW)
    found = {entry.name: entry for entries in decided.values() for entry in entries}
    assert (found["b"].state, found["a"].state) == ("Released", "Waiting")
    assert "the host cluster for 2" in found["a"].message  # what is left


def test_a_gang_that_fits_nowhere_keeps_no_other_from_starting() -> None:
    large, small = seen("a", *held("a", 9, size=9, age=90)), seen("b", *held("b", 3, age=1))
    found = {entry.name: entry.state for entry in decide([large, small], rooms(node("own", "5")), NOW)[(HOME, "hello")]}
    assert found == {"a": "Waiting", "b": "Released"}


def test_what_was_given_to_a_gang_on_its_way_is_not_given_twice() -> None:
    there = member("a", 2, released=1, node="link")
    going = seen("a", member("a", 0, released=1), member("a", 1, released=1), there, entry=released(5))
    next_one = seen("b", *held("b", 3))
    found = {item.name: item for item in decide([next_one, going], rooms(HPC, pods=(there,)), NOW)[(HOME, "hello")]}
    assert found["a"].state == "Released"
    assert "backend 'hpc' for 1" in found["b"].message


def test_what_would_take_too_long_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """By gang, and by cluster: no other cluster is kept from its own."""
    there = [node(f"n{number}", "1") for number in range(10)]
    one_effort = find_effort(held("a", 3)) * len(there) * 3
    monkeypatch.setattr(decisions, "GANG_EFFORT", one_effort)
    monkeypatch.setattr(decisions, "CLUSTER_EFFORT", 2 * one_effort)
    kinds = [member("kinds", number, cpu=f"{number}m", age=99) for number in range(1, 4)]
    mine = [seen(name, *held(name, 3, age=90 - index)) for index, name in enumerate("abc")]
    other = seen("a", *held("a", 3), home="other")
    found = decide([seen("kinds", *kinds), *mine, other], rooms(*there), NOW)
    assert {item.name: item.state for item in found[(HOME, "hello")]} == {
        "kinds": "Waiting",
        "a": "Released",
        "b": "Released",
        "c": "Waiting",
    }
    assert all("demand too much" in item.message for item in found[(HOME, "hello")] if item.state == "Waiting")
    assert found[("other", "hello")][0].state == "Released"


def bound(count: int, number: int = 1, phase: str = "Running") -> list[Object]:
    """So many pods that were let go and have nodes."""
    return [member("a", 10 + index, released=number, node="link", phase=phase) for index in range(count)]


@pytest.mark.parametrize(
    ("pods", "seconds", "state"),
    [
        (held("a", 3), 5, "Released"),
        ([*bound(2), *held("a", 1)], 119, "Released"),
        (bound(3), 5, "Started"),
        # What has ended by then has had its node.
        ([*bound(2), *bound(1, phase="Failed")], 500, "Started"),
        (bound(3, phase="Succeeded"), 500, "Started"),
        ([*bound(3), *held("a", 1)], 500, "Started"),
        # Half of a gang does not run on.
        ([*bound(2), *held("a", 1)], 121, "Waiting"),
        ([*bound(2), member("a", 0, released=1)], 121, "Waiting"),
        ([*bound(2), *bound(1, number=7)], 121, "Waiting"),
    ],
)
def test_all_of_it_must_get_nodes_in_time(pods: list[Object], seconds: float, state: str) -> None:
    assert advance(seen("a", *pods, entry=released(seconds)), NOW).state == state


def test_a_gang_that_is_taken_back_says_so_and_waits_twice_as_long_each_time() -> None:
    pods = [*bound(2), *held("a", 1)]
    first = one(seen("a", *pods, entry=released(121)), rooms(HPC))
    assert (first.state, first.round, first.place, first.nodes) == ("Waiting", 2, "", [])
    assert first.message == "backend 'hpc' gave nodes to 2 of the 3 pods of gang 'shop/a': they are taken back"
    assert first.retry_time == ago(-120)
    assert advance(seen("a", *bound(1, number=4), entry=released(121, round=4)), NOW).retry_time == ago(-960)
    assert advance(seen("a", *bound(1, number=40), entry=released(121, round=40)), NOW).retry_time == ago(-3600)
    # Its pods are there again, held.
    gang = seen("a", *held("a", 3), entry=first)
    assert not is_waiting_for_room(gang, NOW)
    paused = one(gang, rooms(HPC))
    assert paused.message == f"not all pods of gang 'shop/a' got nodes when they were let go; it is tried again at {ago(-120)}"
    later = replace(first, retry_time=ago(1))
    again = one(seen("a", *held("a", 3), entry=later), rooms(HPC))
    assert (again.state, again.round, again.retry_time) == ("Released", 2, "")


@pytest.mark.parametrize(
    ("pods", "state", "number"),
    [
        # A pod that replaces another one goes where the others are.
        ([*bound(2), *held("a", 1)], "Started", 1),
        ([*bound(2, phase="Succeeded"), *held("a", 1)], "Started", 1),
        # All have failed: what comes now is another attempt.
        ([*bound(3, phase="Failed"), *held("a", 3)], "Waiting", 2),
        (bound(3, phase="Failed"), "Started", 1),
        (bound(3), "Started", 1),
    ],
)
def test_a_gang_that_has_started_stays_in_its_place_while_some_of_it_runs(pods: list[Object], state: str, number: int) -> None:
    entry = replace(released(500), state="Started")
    found = advance(seen("a", *pods, entry=entry), NOW)
    assert (found.state, found.round) == (state, number)
    assert found.place == ("hpc" if state == "Started" else "")


@pytest.mark.parametrize(("pods", "state"), [(held("a", 3), "Waiting"), ([*bound(2), *held("a", 1)], "Started")])
def test_a_gang_of_which_nothing_is_known(pods: list[Object], state: str) -> None:
    assert advance(seen("a", *pods), NOW).state == state


def test_while_nothing_waits_for_room_no_node_is_looked_at() -> None:
    gang = seen("a", *held("a", 3))
    assert is_waiting_for_room(gang, NOW)
    assert one(gang, None).state == "Waiting"


def test_places_of_a_class_without_backends() -> None:
    assert list_places(read(Placement, {"gang": {}}), [OWN]) == {"host": []}


def test_nodes_that_are_not_nestors_are_excluded_by_the_label_that_fewest_others_have() -> None:
    selector = {"kubernetes.io/os": "linux", "type": "virtual-kubelet"}
    rules = {"overflow": {"backends": [{"name": "aci", "nodeSelector": selector}, {"name": "hpc"}]}}
    nodes = [node(f"n{number}", "4", **{"kubernetes.io/os": "linux"}) for number in range(3)]
    nodes.append(node("aci", "9", **selector))
    places = list_places(read(Placement, rules), nodes)
    assert [write(item) for item in places["host"]] == [
        {"key": "nestor.dev/backend", "operator": "DoesNotExist"},
        {"key": "type", "operator": "NotIn", "values": ["virtual-kubelet"]},
    ]
    assert [item.key for item in places["aci"]] == ["kubernetes.io/os", "type"]
    assert [item.key for item in places["hpc"]] == ["nestor.dev/backend"]
    found = one(seen("a", *held("a", 3, cpu="3"), rules=rules), rooms(*nodes))
    assert found.place == "host"
    assert one(seen("a", *held("a", 3, cpu="3"), rules=rules), rooms(*nodes[1:])).place == "aci"


def cluster(home: str, *gangs: Object) -> Object:
    status = {"policy": {"placement": RULES}, "gangs": list(gangs)}
    return {"metadata": {"name": "hello", "namespace": home}, "status": status}


def test_gangs_are_found_by_the_labels_of_pods_in_namespaces_of_clusters() -> None:
    entry = {"name": "a", "state": "Started", "round": 3}
    clusters = {(HOME, "hello"): cluster(HOME, entry), ("other", "hello"): cluster("other")}
    pods = [*held("a", 2), *held("a", 1, home="other"), *held("b", 1), *held("a", 1, home="users")]
    found = {(item.namespace, item.name): item for item in find_gangs(pods, clusters)}
    assert {key: len(item.pods) for key, item in found.items()} == {(HOME, "a"): 2, ("other", "a"): 1, (HOME, "b"): 1}
    known = found[HOME, "a"].entry
    assert known is not None
    assert known.round == 3
    assert found["other", "a"].entry is None
    assert found[HOME, "a"].placement == read(Placement, RULES)


def test_of_very_many_gangs_those_that_are_known_and_the_oldest_are_decided_about() -> None:
    clusters = {(HOME, "hello"): cluster(HOME, {"name": "last", "state": "Started"})}
    pods = [pod for number in range(GANGS_LIMIT + 10) for pod in held(f"g{number:03}", 1, age=1000 - number)]
    # A gang is as old as its oldest pod.
    pods += [member("g000", 1, age=0)]
    found = [item.name for item in find_gangs([*pods, *held("last", 1, age=0)], clusters)]
    assert len(found) == GANGS_LIMIT
    assert found[:2] == ["last", "g000"]
