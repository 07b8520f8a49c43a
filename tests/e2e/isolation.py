"""What the isolation tests share: two jobs that attack each other, strangers beside them, stand-ins for what no test machine has.

The conftest makes the fixtures known: the tests of several files use them.
"""

import asyncio
import base64
import contextlib
import ipaddress
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, conditions_of, labels_of, spec_of, status_of
from nestor.kube import Api, kinds
from tests.e2e import attacks
from tests.e2e.attacks import INTERNET, LISTEN_PORT, UDP_PORT, Attack
from tests.e2e.conftest import apply, class_like_default, dump, fresh_namespace, inline_job, kubectl, nested_kubeconfig
from tests.e2e.isolation_scripts import LISTEN, PATIENCE, ROUTES, RUNNER_STEP, SCRIPT, STAND_IN
from tests.waiting import eventually, gone, job_with, wait_for, wait_for_any

SYSTEM = "nestor-system"
Found = dict[str, Object]
"""What became of each attempt, by its id."""

POLICY = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-all, namespace: default}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
  ingress: [{}]
  egress: [{}, {to: [{ipBlock: {cidr: 0.0.0.0/0}}]}]
"""
FORGED_LABELS = {
    "nestor.dev/component": "server",
    "nestor.dev/purpose": "token",
    "app.kubernetes.io/managed-by": "nestor",
    "app.kubernetes.io/name": "nestor",
    "k8s-app": "kube-dns",
}
"""On all pods of the attackers: no wall opens for them."""


@dataclass
class Side:
    """One of the two jobs, with its pods `near` and `far`, each on another node, and a Service for each."""

    job: Object
    inside: Path
    home: str
    pods: dict[str, Object]
    """Host pods, by their nested names."""
    services: dict[str, Object]
    """Host Services, by their nested names, and those of the cluster itself by their role."""
    server: Object

    def address(self, name: str) -> str:
        """Of a pod."""
        return str(self.pods[name]["status"]["podIP"])

    def service(self, name: str) -> str:
        """The address of a Service."""
        return str(self.services[name]["spec"]["clusterIP"])


@dataclass
class Arena:
    """Everything that the tests need."""

    api: Api
    kubeconfig: Path
    namespace: str
    """The strangers' one."""
    image: str
    facts: dict[str, str]
    attacker: Side
    """May use the internet."""
    victim: Side
    """May not; its runner attacks, too."""
    controls: list[tuple[str, Found]] = field(default_factory=list)
    """What became of the attempts from outside of jobs, by the pods that made them."""

    def facts_for(self, own: Side, other: Side) -> dict[str, str]:
        """All facts, as one job sees them."""
        return self.facts | find_facts(own, other)

    def list_attempts(self, wanted: Iterable[Attack], own: Side, other: Side) -> list[Object]:
        """The attempts of one job."""
        facts = self.facts_for(own, other)
        return [item.fill(facts) for item in wanted]

    async def run_in_pod(self, name: str, attempts: list[Object]) -> Found:
        """Make the attempts from a pod of the strangers' namespace."""
        return await run_script(self.kubeconfig, self.namespace, name, attempts)


def find_facts(own: Side, other: Side) -> dict[str, str]:
    """What differs by job."""
    named = other.services["far"]["metadata"]
    facts = {
        "victim": other.address("far"),
        "victim_service": other.service("far"),
        "victim_server": str(other.server["status"]["podIP"]),
        "victim_api": other.service("k3s"),
        "victim_dns": other.service("dns"),
        "victim_name": f"{named['name']}.{named['namespace']}.svc.cluster.local",
        "own_server": str(own.server["status"]["podIP"]),
    }
    return facts | {"victim_service_reverse": reverse(facts["victim_service"])}


def reverse(address: str) -> str:
    """The name of an address's PTR record."""
    return ipaddress.ip_address(address).reverse_pointer


def list_needs(side: Side, *, has_internet: bool) -> list[Object]:
    """What must work for a job, or the attacks would fail for no reason of the walls'."""
    found: list[Object] = [
        {"id": "own-pod-near", "kind": "tcp", "host": side.address("near"), "port": LISTEN_PORT},
        {"id": "own-pod-far", "kind": "tcp", "host": side.address("far"), "port": LISTEN_PORT},
        {"id": "own-udp", "kind": "udp", "host": side.address("far"), "port": UDP_PORT},
        {"id": "own-service", "kind": "tcp", "host": side.service("far"), "port": 80},
        {"id": "own-name", "kind": "dns", "name": "far.default.svc.cluster.local", "type": "A", "but": side.service("far")},
        {"id": "own-api", "kind": "tcp", "host": side.service("k3s"), "port": 443},
    ]
    return [*found, {"id": "allowed-internet", "kind": "tcp", "host": INTERNET, "port": 80}] if has_internet else found


async def run_script(kubeconfig: Path, namespace: str, pod: str, attempts: list[Object]) -> Found:
    """Make the attempts in a pod; what became of each."""
    command = ("exec", "-i", "-n", namespace, pod, "--", "python3", "-c", SCRIPT)
    output = await kubectl(kubeconfig, *command, stdin=json.dumps(attempts))
    found: Found = json.loads(output.splitlines()[-1])
    return found


def list_closed(found: Found) -> dict[str, str]:
    """Those that did not succeed, with what they met."""
    return {name: item["said"] for name, item in found.items() if item["verdict"] != "open"}


def join(runs: Iterable[Found]) -> Found:
    """What became of each attempt at worst: an open one counts above all, and an unknown one above a refused one."""
    joined: Found = {}
    for name, item in (pair for run in runs for pair in run.items()):
        joined[name] = max(joined.get(name, item), item, key=_badness)
    return joined


def _badness(item: Object) -> int:
    return ("refused", "unknown", "open").index(item["verdict"])


async def until_works(kubeconfig: Path, namespace: str, pod: str, needs: list[Object]) -> None:
    """Await that all that a pod must reach is reached: Services and policies follow pods a moment late."""
    seen: dict[str, str] = {}

    async def works() -> bool:
        found = list_closed(await run_script(kubeconfig, namespace, pod, needs))
        seen.clear()
        seen.update(found)
        return not seen

    try:
        await eventually(works, 90)
    except (AssertionError, TimeoutError):
        raise AssertionError(f"pod {pod} does not reach what it must: {seen}") from None


def listener(name: str, image: str, node: str, port: int = LISTEN_PORT, *, script: str = LISTEN, **spec: object) -> Object:
    """A pod that listens, and can attack; as root, without anything that Baseline would not allow."""
    container = {
        "name": "main",
        "image": image,
        "command": ["python3", "-c", script, str(port)],
        "securityContext": {"runAsUser": 0, "runAsGroup": 0},
        "resources": {"requests": {"cpu": "1m", "memory": "16Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, **FORGED_LABELS}},
        "spec": {
            "terminationGracePeriodSeconds": 2,
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [container],
            **spec,
        },
    }


def service(name: str, **spec: object) -> Object:
    """A Service for a listener."""
    ports = [{"name": "http", "port": 80, "targetPort": LISTEN_PORT, "protocol": "TCP"}]
    body = {"selector": {"app": name}, "ports": ports, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": body}


def privileged(pod: Object, *, on_host: bool) -> Object:
    """The pod with all rights, of the host's admin."""
    (container,) = pod["spec"]["containers"]
    more = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if on_host else {}
    return pod | {
        "spec": pod["spec"] | {"containers": [container | {"securityContext": {"privileged": True, "runAsUser": 0}}]} | more
    }


async def make_strangers(api: Api, kubeconfig: Path, namespace: str, image: str, nodes: list[str]) -> dict[str, str]:
    """Whoever is there besides jobs: a user's pod with a Service, stand-ins, and a process on each node. Returns facts."""
    stand_in = privileged(listener("stand-in", image, nodes[0], 80, script=STAND_IN), on_host=False)
    strangers = [
        listener("stranger", image, nodes[0]),
        listener("visitor", image, nodes[-1]),
        service("stranger", type="NodePort"),
    ]
    await kubectl(
        kubeconfig, "-n", namespace, "apply", "-f", "-", stdin=dump(stand_in, *strangers, service("stranger", type="NodePort"))
    )
    await kubectl(kubeconfig, "-n", namespace, "wait", "--for=condition=Ready", "pod", "--all")
    at = (await api.get(kinds.POD, "stand-in", namespace))["status"]["podIP"]
    agents = [
        privileged(listener(f"agent-{number}", image, node, script=ROUTES), on_host=True) for number, node in enumerate(nodes)
    ]
    for agent in agents:
        agent["spec"]["containers"][0]["command"][3] = at
        agent["spec"]["containers"][0]["readinessProbe"] = {
            "exec": {"command": ["cat", "/tmp/ready"]},
            "periodSeconds": 1,
            "timeoutSeconds": 10,
        }
        del agent["metadata"]["labels"]["app"]
    await kubectl(kubeconfig, "-n", namespace, "apply", "-f", "-", stdin=dump(*agents))
    await kubectl(kubeconfig, "-n", namespace, "wait", "--for=condition=Ready", "pod", "--all")
    pod, made = await asyncio.gather(api.get(kinds.POD, "stranger", namespace), api.get(kinds.SERVICE, "stranger", namespace))
    facts = {
        "stranger": pod["status"]["podIP"],
        "stranger_service": made["spec"]["clusterIP"],
        "node_port": str(made["spec"]["ports"][0]["nodePort"]),
        "stranger_name": f"stranger.{namespace}.svc.cluster.local",
    }
    return facts | {f"{name}_reverse": reverse(facts[name]) for name in ("stranger", "stranger_service")}


async def read_host(api: Api) -> dict[str, str]:
    """Facts about the host cluster itself."""
    (slice_,) = await api.list(kinds.ENDPOINT_SLICE, "default", labels="kubernetes.io/service-name=kubernetes")
    first = slice_["endpoints"][0]["addresses"][0]
    nodes = {
        address["address"]: item["metadata"]["name"]
        for item in await api.list(kinds.NODE)
        if labels.BACKEND not in labels_of(item)
        for address in status_of(item)["addresses"]
        if address["type"] == "InternalIP"
    }
    second = next(address for address in nodes if address != first)
    api_service = (await api.get(kinds.SERVICE, "kubernetes", "default"))["spec"]["clusterIP"]
    (dns,) = [item for item in await api.list(kinds.SERVICE, "kube-system") if item["metadata"]["name"] == "kube-dns"]
    dns_pod = (await api.list(kinds.POD, "kube-system", labels="k8s-app=kube-dns"))[0]
    (operator,) = await api.list(kinds.POD, SYSTEM, labels="app.kubernetes.io/name=nestor")
    return {
        "first": first,
        "second": second,
        "first_node": nodes[first],
        "second_node": nodes[second],
        "api_port": str(slice_["ports"][0]["port"]),
        "api_service": api_service,
        "dns_service": dns["spec"]["clusterIP"],
        "dns_pod": dns_pod["status"]["podIP"],
        "dns_pod_reverse": reverse(dns_pod["status"]["podIP"]),
        "operator": operator["status"]["podIP"],
    }


async def open_side(api: Api, name: str, namespace: str, folder: Path, image: str, nodes: list[str], **spec: object) -> Side:
    """Start a job whose runner waits for targets, and its pods."""
    steps = [{"name": "attack", "type": "custom", "cmd": encode(RUNNER_STEP), "timeout_seconds": PATIENCE + 200}]
    documents = inline_job(name, namespace, {"nothing.yaml": "{}"}, steps)
    documents[-1]["spec"] |= spec
    await apply(api, documents)
    job = await job_with(api, name, namespace, conditions.CLUSTER_READY, "True")
    inside = await nested_kubeconfig(api, job, folder)
    await kubectl(inside, "wait", "--for=create", "serviceaccount/default")
    pods = [listener(pod, image, node) for pod, node in (("near", nodes[0]), ("far", nodes[-1]))]
    await kubectl(inside, "apply", "-f", "-", stdin=dump(*pods, service("near"), service("far")))
    await kubectl(inside, "apply", "-f", "-", stdin=POLICY)
    await kubectl(inside, "wait", "--for=condition=Ready", "pod", "near", "far")
    return await read_side(api, job, inside)


def encode(script: str) -> str:
    """A script as an AppDef carries it."""
    return base64.b64encode(script.encode()).decode()


async def read_side(api: Api, job: Object, inside: Path) -> Side:
    """What of the job is in the host cluster."""
    home = job["status"]["namespace"]
    for name in ("near", "far"):
        await wait_for_any(api, kinds.SERVICE, home, partial(_is_named, name))
    pods = await api.list(kinds.POD, home, labels=labels.selector(component=labels.COMPONENT_APP))
    services = {}
    for item in await api.list(kinds.SERVICE, home):
        nested = annotations_of(item).get(labels.NESTED_NAME)
        services[nested or item["metadata"]["name"].rsplit("-", 1)[1]] = item
    (server,) = await api.list(kinds.POD, home, labels=labels.selector(component=labels.COMPONENT_SERVER))
    return Side(job, inside, home, {annotations_of(item)[labels.NESTED_NAME]: item for item in pods}, services, server)


def _is_named(name: str, item: Object) -> bool:
    return annotations_of(item).get(labels.NESTED_NAME) == name


@pytest.fixture(scope="session")
async def arena(
    api: Api, kubeconfig: Path, used_namespaces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Arena]:
    """Two jobs beside strangers, and what becomes of the attacks from outside of jobs."""
    (deployment,) = await api.list(kinds.DEPLOYMENT, SYSTEM, labels="app.kubernetes.io/name=nestor")
    image = spec_of(deployment)["template"]["spec"]["containers"][0]["image"]
    condition = await find_walls(api)
    assert condition["status"] == "True", f"there are no walls to attack: {condition['message']}"
    facts, folder = await read_host(api), tmp_path_factory.mktemp("arena")
    nodes = [facts["first_node"], facts["second_node"]]
    async with (
        fresh_namespace(api, used_namespaces) as namespace,
        class_like_default(api, "closed", network={"internet": "None"}) as closed,
    ):
        attacker, victim, found = await asyncio.gather(
            open_side(api, "attacker", namespace, folder, image, nodes),
            open_side(api, "victim", namespace, folder, image, nodes, className=closed),
            make_strangers(api, kubeconfig, namespace, image, nodes),
        )
        made = Arena(api, kubeconfig, namespace, image, facts | found, attacker, victim)
        made.controls = await until_controlled(made)
        yield made
        for pod in ("agent-0", "agent-1"):
            await api.delete(kinds.POD, pod, namespace)
            await gone(api, kinds.POD, pod, namespace)


async def find_walls(api: Api) -> Object:
    """What the operator's probe says about them, once it has an answer."""

    def is_known(item: Object | None) -> bool:
        found = conditions.find(conditions_of(item), conditions.NETWORK_ENFORCED) or {}
        return found.get("status") in ("True", "False")

    item = await wait_for(api, kinds.NESTED_CLASS, "default", "", is_known)
    return conditions.find(conditions_of(item), conditions.NETWORK_ENFORCED) or {}


OUTSIDE = ("stranger", "visitor", "agent-0", "agent-1")
"""Who makes the same attempts: a user's pods on both nodes, and the nodes themselves."""


def list_controls(controls: list[tuple[str, Found]], attack: Attack) -> list[Object]:
    """What became of an attempt, from outside of jobs, by those who can tell."""
    # Like the attackers, a pod on the other node is the one to tell of what is on a node.
    tellers = {"first_node": ("visitor",), "second_node": ("stranger",)}.get(attack.node, OUTSIDE)
    return [found[attack.id] for pod, found in controls if pod in tellers]


async def until_controlled(arena: Arena) -> list[tuple[str, Found]]:
    """The attempts from outside, made until all that listens is reached: nodes follow Services and pods a moment late. What is
    still not reached after a while is for the tests to tell.
    """
    found: list[tuple[str, Found]] = []

    async def are_reached() -> bool:
        found[:] = await run_controls(arena)
        listening = [attack for attack in attacks.CONTROLLED if attack.is_listening]
        return all(any(item["verdict"] == "open" for item in list_controls(found, attack)) for attack in listening)

    with contextlib.suppress(AssertionError):
        await eventually(are_reached, 120)
    return found


async def run_controls(arena: Arena) -> list[tuple[str, Found]]:
    """The attempts of both jobs, from outside of jobs."""
    sides = ((arena.attacker, arena.victim), (arena.victim, arena.attacker))
    runs = []
    for own, other in sides:
        attempts = arena.list_attempts(attacks.CONTROLLED, own, other)
        runs += [arena.run_in_pod(name, attempts) for name in OUTSIDE]
    return list(zip(OUTSIDE * len(sides), await asyncio.gather(*runs), strict=True))
