"""The text for `nft`, as `nft` itself understands it, and the store that it is made from."""

import itertools
import shutil
import subprocess
from typing import Any

import pytest

from devcluster.cluster.policies.objects import read_pod, read_policy
from devcluster.cluster.policies.ruleset import write, write_changes
from devcluster.cluster.policies.store import Store, place
from tests.unit.devcluster.cluster.policies.cluster import build, pod, policy

WEB_PODS = {"podSelector": {"matchLabels": {"app": "web"}}}
SPEC = {
    "podSelector": {},
    "policyTypes": ["Ingress", "Egress"],
    "ingress": [{"from": [WEB_PODS, {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}], "ports": [{"port": 80}]}],
    "egress": [{"to": [{"namespaceSelector": {}}], "ports": [{"port": "http"}, {"protocol": "SCTP", "port": 7, "endPort": 9}]}],
}


def pod_object(uid: str, version: int, *, address: str = "10.42.0.2", **spec: Any) -> dict[str, Any]:
    """A pod as the API server has it."""
    meta = {"uid": uid, "name": uid, "namespace": "a", "resourceVersion": str(version), "labels": {"app": uid}}
    container = {"name": "main", "ports": [{"name": "http", "containerPort": 80}, {"containerPort": 81}]}
    return {
        "metadata": meta,
        "spec": {"nodeName": "node-1", "containers": [container]} | spec,
        "status": {"phase": "Running", "podIPs": [{"ip": address}]},
    }


def test_nothing_is_written_if_nothing_changed() -> None:
    assert write_changes(build([pod("web", "10.42.0.2")], []), build([pod("web", "10.42.0.2")], [])) == ""


def test_a_pod_that_comes_or_goes_changes_only_elements() -> None:
    policies = [policy("one", SPEC)]
    before = build([pod("web", "10.42.0.2")], policies)
    after = build([pod("web", "10.42.0.2"), pod("web", "10.42.0.3")], policies)
    assert {line.split()[0:2][1] for line in write_changes(before, after).splitlines()} == {"element"}
    assert all(line.startswith("delete element") for line in write_changes(after, before).splitlines())


def test_a_pod_that_gets_another_chain_loses_its_old_one() -> None:
    pods = [pod("web", "10.42.0.2")]
    text = write_changes(build(pods, [policy("one", SPEC)]), build(pods, [policy("one", SPEC | {"ingress": []})]))
    lines = text.splitlines()
    deleted, added = (
        next(i for i, line in enumerate(lines) if line.startswith(f"{verb} element") and "ingress4" in line)
        for verb in ("delete", "add")
    )
    assert deleted < added
    assert lines[-1].startswith("delete set") or lines[-1].startswith("delete chain")


@pytest.mark.skipif(shutil.which("nft", path="/usr/sbin:/usr/bin") is None, reason="nft is not installed")
def test_nft_takes_everything_that_is_written() -> None:
    pods = [pod("web", "10.42.0.2", ports=[("http", 80)]), pod("db", "fd00::2", ports=[("http", 81)])]
    steps = [
        build([], []),
        build(pods, [policy("one", SPEC)]),
        build(pods[:1], [policy("one", SPEC | {"ingress": []})]),
        build([], []),
    ]
    script = write(steps[0]) + "".join(write_changes(before, after) for before, after in itertools.pairwise(steps))
    whole = write(steps[1])
    for text in (script, whole):
        command = ["unshare", "--user", "--map-root-user", "--net", "/usr/sbin/nft", "-f", "-"]
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, ("10.42.0.2",)), ({"spec": {"hostNetwork": True}}, None), ({"phase": "Succeeded"}, None), ({"phase": "Failed"}, None)],
)
def test_which_pods_have_a_network_of_their_own(change: dict[str, Any], expected: tuple[str, ...] | None) -> None:
    item = pod_object("p", 1, **change.get("spec", {}))
    item["status"]["phase"] = change.get("phase", "Running")
    found = read_pod(item)
    assert (found.addresses if found else None) == expected


def test_ports_are_known_by_name() -> None:
    item = pod_object(
        "p", 1, initContainers=[{"name": "s", "restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 7}]}]
    )
    found = read_pod(item)
    assert found is not None
    assert [(port.name, port.protocol, port.number) for port in found.ports] == [("http", "TCP", 80), ("side", "TCP", 7)]


@pytest.mark.parametrize(
    ("spec", "expected"), [({}, (True, False)), ({"egress": [{}]}, (True, True)), ({"policyTypes": ["Egress"]}, (False, True))]
)
def test_which_directions_a_policy_is_about(spec: dict[str, Any], expected: tuple[bool, bool]) -> None:
    found = read_policy({"metadata": {"uid": "u", "name": "n", "namespace": "a"}, "spec": spec})
    assert (found.applies_to("Ingress"), found.applies_to("Egress")) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({}, [("10.42.0.2",), ("10.42.0.3",)]),
        ({"uid-a-web": ("10.42.0.9",)}, [("10.42.0.9",), ("10.42.0.3",)]),
        ({"uid-a-web": ("10.42.0.3",)}, [("10.42.0.3",), ()]),
        ({"uid-a-web": ()}, [(), ("10.42.0.3",)]),
    ],
)
def test_the_plugin_knows_better_than_the_status_where_pods_are(
    claims: dict[str, tuple[str, ...]], expected: list[tuple[str, ...]]
) -> None:
    pods = [pod("web", "10.42.0.2"), pod("db", "10.42.0.3")]
    assert [item.addresses for item in place(pods, claims)] == expected


def listed(*pods: dict[str, Any], version: int = 10) -> Store:
    """A store that has seen all lists."""
    store = Store()
    store.replace("pods", list(pods), version)
    for kind in ("namespaces", "networkpolicies"):
        store.replace(kind, [], version)
    return store


def addresses(store: Store) -> list[str]:
    """What the store says now."""
    taken = store.take(0)
    return [address for pod in taken[1].pods for address in pod.addresses] if taken else []


def test_nothing_is_decided_before_everything_is_listed() -> None:
    store = Store()
    store.replace("pods", [pod_object("p", 1)], 5)
    assert store.take(0) is None


def test_an_old_answer_does_not_bring_back_what_is_gone() -> None:
    store = listed(pod_object("p", 3))
    store.change("pods", "DELETED", pod_object("p", 4))
    store.change("pods", "MODIFIED", pod_object("p", 3))
    assert addresses(store) == []


def test_what_is_older_changes_nothing() -> None:
    store = listed(pod_object("p", 20))
    store.replace("pods", [], 15)
    store.change("pods", "MODIFIED", pod_object("p", 19, address="10.42.0.7"))
    assert addresses(store) == ["10.42.0.2"]


def test_a_pod_is_where_the_plugin_says_until_it_ends() -> None:
    store = listed(pod_object("p", 1))
    revision = store.claim("p", ("10.42.0.8",))
    assert addresses(store) == ["10.42.0.8"]
    store.done(revision)
    assert store.wait_applied(revision, 0)
    store.release("p")
    assert not store.wait_applied(revision + 1, 0)
    assert addresses(store) == []
