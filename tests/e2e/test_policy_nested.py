"""NetworkPolicies of nested clusters: they really close, they really open, and never open Nestor's own walls."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, names
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.attack_script import TRIES, is_refusal, judge_silence
from tests.e2e.conftest import (
    BUSYBOX,
    IS_EMBEDDED,
    Web,
    apply,
    dump,
    example,
    fresh_namespace,
    kubectl,
    kubectl_says,
    nested_kubeconfig,
)
from tests.e2e.house import House, Room
from tests.waiting import eventually, has, job_with, until, wait_for

pytestmark = pytest.mark.xdist_group("house")

SERVE = "mkdir /tmp/www; echo yes > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"
SLEEP = "exec sleep 3600"
METADATA = "169.254.169.254"
API = "kubernetes.default.svc:443"
"""HTTP to the port for HTTPS: the answer is a refusal, but one of the API server."""
SILENCE = ("", "Terminated", "wget: download timed out")
"""What is said about a place that does not answer."""


def pod(name: str, script: str, **labels: str) -> Object:
    """A pod of busybox with its name as label `app`."""
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script]}
    spec = {"terminationGracePeriodSeconds": 0, "restartPolicy": "Never", "containers": [container]}
    meta = {"name": name, "labels": {"app": name, **labels}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def policy(name: str, selector: Object, **spec: Any) -> Object:
    """A nested policy."""
    body = {"podSelector": selector, **spec}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": body}


@dataclass
class Nested:
    """A namespace of a nested cluster with a server, a friend and a stranger in it, and a pod of a user's in the host."""

    house: House
    room: Room
    server: str
    """Address of the server's pod."""
    outside: str
    """Address of the pod in the host."""

    async def apply(self, *documents: Object) -> None:
        await self.room.kubectl("apply", "-f", "-", stdin=dump(*documents))

    async def ask(self, client: str, place: str) -> str:
        """What a client gets from a place, or the error."""
        script = f"timeout 4 wget -qO- http://{place} 2>&1 || true"
        return (await self.room.kubectl("exec", client, "--", "sh", "-c", script)).strip()

    async def reaches(self, client: str, place: str) -> bool:
        """Whether a client reaches a server. It fails if that is unknown (see `attack_script`): where walls drop packets,
        each silence must be one to this place alone, as the nested API server always answers.
        """
        said, controls = "", list[bool]()
        for _ in range(TRIES):
            said = await self.ask(client, place)
            if said == "yes" or is_refusal(said):
                return said == "yes"
            controls.append("400 Bad Request" in await self.ask(client, API))
        assert judge_silence(controls, does_drop=not IS_EMBEDDED and said in SILENCE) == "refused", f"{place} says: {said!r}"
        return False

    async def await_reached(self, client: str, place: str, expected: bool) -> None:
        """Policies are carried a moment late."""
        await until(lambda: self.reaches(client, place), lambda found: found is expected)


@pytest.fixture(scope="module")
async def shared(api: Api, used_namespaces: list[str], house: House) -> AsyncIterator[Nested]:
    """The namespace, its pods ready."""
    async with fresh_namespace(api, used_namespaces) as namespace, house.room("walls") as room:
        await api.create(kinds.POD, pod("outside", SERVE) | {"metadata": {"name": "outside", "namespace": namespace}})
        cluster = Nested(house, room, "", "")
        await cluster.apply(pod("server", SERVE), pod("friend", SLEEP, role="friend"), pod("stranger", SLEEP))
        await cluster.room.kubectl("wait", "pod", "--all", "--for=condition=Ready")
        cluster.server = await cluster.room.kubectl("get", "pod", "server", "-o=jsonpath={.status.podIP}")
        found = await wait_for(api, kinds.POD, "outside", namespace, has("Ready", "True"))
        cluster.outside = (found or {})["status"]["podIP"]
        yield cluster


@pytest.fixture
async def nested(shared: Nested) -> AsyncIterator[Nested]:
    """The namespace without any policy, before and after."""
    place = f"{shared.server}:8080"
    for client in ("friend", "stranger"):
        await shared.await_reached(client, place, True)
    yield shared
    await shared.room.kubectl("delete", "networkpolicies", "--all")


async def test_a_policy_really_closes_and_opens(nested: Nested) -> None:
    place = f"{nested.server}:8080"
    server = {"matchLabels": {"app": "server"}}
    await nested.apply(policy("closed", server, policyTypes=["Ingress"]))
    for client in ("friend", "stranger"):
        await nested.await_reached(client, place, False)
    friends = [{"from": [{"podSelector": {"matchLabels": {"role": "friend"}}}], "ports": [{"port": 8080}]}]
    await nested.apply(policy("friends", server, ingress=friends))
    await nested.await_reached("friend", place, True)
    assert not await nested.reaches("stranger", place)
    # The nested API server's proxy still reaches it, as do its readiness probes.
    assert "yes" in await nested.room.kubectl("get", "--raw", f"/api/v1/namespaces/{nested.room.name}/pods/server:8080/proxy/")
    await nested.room.kubectl("label", "pod", "stranger", "role=friend")
    await nested.await_reached("stranger", place, True)
    await nested.room.kubectl("label", "pod", "stranger", "role-")
    await nested.await_reached("stranger", place, False)
    await nested.room.kubectl("delete", "networkpolicies", "--all")
    await nested.await_reached("stranger", place, True)


async def test_namespaces_are_told_apart_by_their_labels(nested: Nested) -> None:
    place, name = f"{nested.server}:8080", f"team-{uuid.uuid4().hex[:6]}"
    peers = [{"namespaceSelector": {"matchLabels": {"team": name}}}]
    await nested.apply(policy("team", {"matchLabels": {"app": "server"}}, ingress=[{"from": peers}]))
    await nested.await_reached("stranger", place, False)
    await nested.room.kubectl("label", "namespace", nested.room.name, f"team={name}")
    await nested.await_reached("stranger", place, True)
    await nested.room.kubectl("label", "namespace", nested.room.name, "team-")
    await nested.await_reached("stranger", place, False)


async def test_egress_is_closed_but_for_dns_and_the_nested_api(nested: Nested) -> None:
    place = f"{nested.server}:8080"
    await nested.apply(policy("out", {"matchLabels": {"app": "stranger"}}, policyTypes=["Egress"]))
    await nested.await_reached("stranger", place, False)
    assert await nested.reaches("friend", place)
    assert "400 Bad Request" in await nested.ask("stranger", API)
    to_block = [{"to": [{"ipBlock": {"cidr": f"{nested.server}/32"}}]}]
    await nested.apply(policy("out", {"matchLabels": {"app": "stranger"}}, policyTypes=["Egress"], egress=to_block))
    await nested.await_reached("stranger", place, True)


async def test_a_pod_is_isolated_from_its_first_packet_on(nested: Nested) -> None:
    script = f"timeout 4 wget -qO- http://{nested.server}:8080 2>&1 || true"
    early = [f"early-{number}" for number in range(3)]
    closed = policy("early", {"matchLabels": {"is": "early"}}, policyTypes=["Egress"])
    await nested.apply(closed, *(pod(name, script, **{"is": "early"}) for name in early))
    for name in early:
        await nested.room.kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded")
        said = (await nested.room.kubectl("logs", name)).strip()
        assert is_refusal(said) or (not IS_EMBEDDED and said in SILENCE), said
    await nested.room.kubectl("delete", "pod", *early)


async def test_a_policy_that_allows_everything_opens_no_wall(api: Api, nested: Nested) -> None:
    anywhere = [{"ipBlock": {"cidr": cidr}} for cidr in ("0.0.0.0/0", "::/0", "10.0.0.0/8", f"{METADATA}/32")]
    await nested.apply(
        policy(
            "everything",
            {},
            policyTypes=["Ingress", "Egress"],
            ingress=[{}, {"from": [*anywhere, {"namespaceSelector": {}}]}],
            egress=[{}, {"to": [*anywhere, {"namespaceSelector": {}}]}],
        )
    )

    async def is_carried() -> bool:
        home, isolated = nested.house.home, "nestor.dev/isolated-egress=true,nestor.dev/isolated-ingress=true"
        found = await api.find(kinds.NETWORK_POLICY, names.host_name("everything", nested.room.name), home)
        return found is not None and len(await api.list(kinds.POD, home, labels=isolated)) == 3

    await eventually(is_carried)
    await nested.await_reached("stranger", f"{nested.server}:8080", True)
    (slices,) = [item for item in await api.list(kinds.ENDPOINT_SLICE, "default") if item["metadata"]["name"] == "kubernetes"]
    host_api = f"{slices['endpoints'][0]['addresses'][0]}:{slices['ports'][0]['port']}"
    for place in (METADATA, host_api, f"{nested.outside}:8080"):
        assert not await nested.reaches("stranger", place)
    # What of it is not carried is said where its owner looks.
    events = await nested.room.kubectl("get", "events", "--field-selector=reason=FieldsIgnored", "-o=jsonpath={..message}")
    assert METADATA in events


async def test_the_example_of_a_closed_app(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("17-closed-app", "closed", namespace))
    job = await job_with(api, "closed", namespace, conditions.READY, "True")
    assert "the treasure" in await web.page(job["status"]["url"])
    inside = await nested_kubeconfig(api, job, tmp_path)
    said = set((await kubectl_says(inside, "logs", "intruder", text="\n")).splitlines())
    assert "kept out" in said
    assert not {"got in", "the treasure"} & said
    await kubectl(inside, "delete", "networkpolicies", "--all")
    await kubectl_says(inside, "logs", "intruder", "--tail=3", text="got in")
