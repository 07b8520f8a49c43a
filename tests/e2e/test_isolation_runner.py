"""What a runner reaches, whose scripts are its user's: its own cluster, and nothing besides."""

import json

import pytest

from nestor.api import labels
from nestor.api.objects import Object, spec_of
from nestor.kube import kinds
from tests.e2e import attacks
from tests.e2e.attacks import Attack
from tests.e2e.conftest import IS_EMBEDDED, kubectl
from tests.e2e.isolation import Arena, Found, join, list_closed, list_needs, run_script, until_works
from tests.waiting import gone

pytestmark = [
    pytest.mark.xdist_group("isolation"),
    pytest.mark.skipif(not IS_EMBEDDED, reason="stand-ins for clouds need routes on the nodes"),
]


@pytest.fixture(scope="module")
async def runner(arena: Arena) -> Object:
    """The runner of the job that may not use the internet, at its step."""
    pods = await arena.api.list(kinds.POD, arena.victim.home, labels=labels.selector(component=labels.COMPONENT_RUNNER))
    (pod,) = [item for item in pods if not item["metadata"]["name"].startswith("double")]
    return pod


def build_double(runner: Object, node: str) -> Object:
    """The runner once more, on the other node: Kubernetes closes no pod off from the node that it runs on."""
    (container,) = spec_of(runner)["containers"]
    kept = {key: container[key] for key in ("image", "securityContext", "resources")}
    spec = {key: spec_of(runner)[key] for key in ("dnsPolicy", "dnsConfig", "securityContext", "automountServiceAccountToken")}
    command = {"name": "double", "command": ["sleep", "600"], **kept}
    more = {"nodeName": node, "containers": [command], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    meta = {"name": "double", "namespace": runner["metadata"]["namespace"], "labels": runner["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec | more}


@pytest.fixture(scope="module")
async def found(arena: Arena, runner: Object) -> Found:
    """By the runner itself, and by its double on the other node."""
    side, facts = arena.victim, arena.facts_for(arena.victim, arena.attacker)
    own = spec_of(runner)["nodeName"]
    other = next(facts[name] for name in ("first_node", "second_node") if facts[name] != own)
    needs = list_needs(side, has_internet=False)
    attempts = {
        node: [item.fill(facts) for item in attacks.RUNNER if not item.node or facts[item.node] != node] for node in (own, other)
    }

    await kubectl(arena.kubeconfig, "apply", "-f", "-", stdin=json.dumps(build_double(runner, other)))
    await kubectl(arena.kubeconfig, "-n", side.home, "wait", "--for=condition=Ready", "pod/double")
    targets = json.dumps([*needs, *attempts[own]])
    await kubectl(side.inside, "create", "configmap", "targets", f"--from-literal=targets={targets}")
    await kubectl(side.inside, "wait", "--for=create", "configmap/found")
    by_runner: Found = json.loads(await kubectl(side.inside, "get", "configmap", "found", "-o", "jsonpath={.data.found}"))
    assert list_closed({need["id"]: by_runner.pop(need["id"]) for need in needs}) == {}

    await until_works(arena.kubeconfig, side.home, "double", needs)
    by_double = await run_script(arena.kubeconfig, side.home, "double", attempts[other])
    await arena.api.delete(kinds.POD, "double", side.home)
    await gone(arena.api, kinds.POD, "double", side.home)
    return join([by_runner, by_double])


@pytest.mark.parametrize("attack", attacks.RUNNER, ids=lambda item: item.id)
async def test_a_runner_does_not_reach(found: Found, attack: Attack) -> None:
    assert found[attack.id]["verdict"] == "refused", found[attack.id]
