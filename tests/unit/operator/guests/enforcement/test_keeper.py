"""Whether the host enforces NetworkPolicies: how that is asked, told and remembered."""

import asyncio
import base64
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from nestor.api import conditions
from nestor.kube import Api, Forbidden, Kind, kinds
from nestor.operator.guests.enforcement import keeper, probe
from nestor.operator.guests.enforcement.keeper import ENFORCED_SECONDS, OPEN_SECONDS, UNKNOWN_SECONDS, Enforcement
from nestor.operator.guests.enforcement.probe import EGRESS_PORT, INGRESS_PORT, OPEN_PORT, Exit
from nestor.operator.guests.enforcement.verdict import Verdict, decide_condition, explain_open, find_denial, read_verdict
from nestor.operator.settings import Settings
from nestor.operator.world.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object, build_policy
from tests.unit.operator.scene import Scene

OPEN, CLOSED, UNKNOWN = Verdict(Exit.NEITHER), Verdict(Exit.ENFORCED), Verdict(None, "no room")
NO_PROBE = Verdict(None, "no probe")


def build_pod(phase: str, code: int | None = None, **status: Any) -> Object:
    state = {"terminated": {"exitCode": code}} if code is not None else {"running": {}}
    return {"status": {"phase": phase, "containerStatuses": [{"name": "probe", "state": state}], **status}}


@pytest.mark.parametrize(
    ("pod", "verdict"),
    [
        ({"status": {"phase": "Pending"}}, None),
        (build_pod("Running"), None),
        (build_pod("Succeeded", 0), CLOSED),
        (build_pod("Failed", 22), OPEN),
        (build_pod("Failed", 20), Verdict(Exit.NO_EGRESS)),
        (build_pod("Failed", 21), Verdict(Exit.NO_INGRESS)),
        (build_pod("Failed", 23), Verdict(None, "its pods do not even reach each other where policies allow it")),
        (build_pod("Failed", 137), Verdict(None, "its pod ended without a result: Failed")),
        ({"status": {"phase": "Failed", "reason": "Evicted"}}, Verdict(None, "its pod ended without a result: Evicted")),
    ],
)
def test_what_a_pod_has_found_out(pod: Object, verdict: Verdict | None) -> None:
    assert read_verdict(pod) == verdict


def build_class(verdict: Verdict | None, unenforced: str) -> tuple[Object, Any]:
    spec = build_policy(network={"unenforced": unenforced})
    found = [vars(decide_condition(verdict, spec))] if verdict else []
    return {"metadata": {"name": "default", "uid": "c"}, "status": {"conditions": found}}, spec


@pytest.mark.parametrize("verdict", [OPEN, CLOSED, UNKNOWN, None])
@pytest.mark.parametrize("unenforced", ["Warn", "Refuse", "Accept"])
def test_jobs_say_so_until_an_admin_accepts_it(verdict: Verdict | None, unenforced: str) -> None:
    assert explain_open(None, build_policy(), "default") == "", "there is no class"
    said = explain_open(*build_class(verdict, unenforced), "default")
    assert bool(said) == (verdict == OPEN and unenforced != "Accept")
    if said:
        assert said.startswith("this cluster does not enforce NetworkPolicies: pods of jobs can reach")
        assert "class 'default' (`network.unenforced: Accept`)" in said


@pytest.mark.parametrize(
    ("verdict", "unenforced", "status", "reason"),
    [
        (OPEN, "Refuse", "False", conditions.NETWORK_NOT_ENFORCED),
        (UNKNOWN, "Refuse", "Unknown", conditions.NETWORK_NOT_PROBED),
        (None, "Refuse", "Unknown", conditions.NETWORK_NOT_PROBED),
        (CLOSED, "Refuse", "", ""),
        (OPEN, "Warn", "", ""),
        (OPEN, "Accept", "", ""),
    ],
)
def test_a_class_may_refuse_jobs_unless_the_host_is_known_to_enforce(
    verdict: Verdict | None, unenforced: str, status: str, reason: str
) -> None:
    found = find_denial(*build_class(verdict, unenforced), "default")
    if not reason:
        assert found is None
        return
    assert found is not None
    assert (found.status, found.reason) == (status, reason)
    assert "network.unenforced: Refuse" in found.message


def free_ports() -> tuple[int, int, int]:
    """Three ports where nobody listens."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(3)]
    first, second, third = found
    return first, second, third


@contextlib.asynccontextmanager
async def listening(*ports: int) -> AsyncIterator[None]:
    """A listener at these ports alone, as policies that are enforced leave it."""
    task = asyncio.create_task(probe.listen(ports))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that has little time."""
    for name in ("PAUSE_SECONDS", "LAG_SECONDS"):
        monkeypatch.setattr(probe, name, 0.1)


async def test_a_caller_waits_for_the_listener_and_is_done_as_soon_as_policies_hold() -> None:
    ports = free_ports()
    calling = asyncio.create_task(probe.call("127.0.0.1", ports))
    async with listening(ports[0]):
        assert await asyncio.wait_for(calling, 20) == Exit.ENFORCED


@pytest.mark.parametrize(
    ("others", "code"), [([1], Exit.NO_EGRESS), ([2], Exit.NO_INGRESS), ([1, 2], Exit.NEITHER)], ids=["egress", "ingress", "all"]
)
@pytest.mark.usefixtures("quick")
async def test_policies_have_a_while_to_come_into_force(others: list[int], code: Exit) -> None:
    ports = free_ports()
    async with listening(ports[0], *(ports[other] for other in others)):
        assert await probe.call("127.0.0.1", ports) == code


async def test_a_policy_that_comes_into_force_late_counts() -> None:
    ports = free_ports()
    async with listening(ports[0]):
        async with listening(*ports[1:]):
            calling = asyncio.create_task(probe.call("127.0.0.1", ports))
            await asyncio.sleep(0)
        assert await asyncio.wait_for(calling, 20) == Exit.ENFORCED


@pytest.mark.usefixtures("quick")
async def test_whoever_reaches_nothing_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "PATIENCE_SECONDS", 0.05)
    assert await probe.call("127.0.0.1", free_ports()) == Exit.UNREACHED


def test_the_exit_code_of_the_process_is_the_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def call(address: str) -> Exit:
        return Exit.NEITHER

    monkeypatch.setattr(probe, "call", call)
    assert probe.main(["call", "10.42.0.7"]) == Exit.NEITHER
    assert capsys.readouterr().out == "NEITHER: policies between this pod and 10.42.0.7\n"
    with pytest.raises(SystemExit):
        probe.main(["call", "example.org"])


OWNER: Object = {"metadata": {"name": "nestor-system", "uid": "system"}}


class FakeHost(MemoryApi):
    """Runs the probe's pods, as far as the operator can tell: they end, or listen, at once."""

    def __init__(self, code: int | None = 0, refusals: int = 0) -> None:
        super().__init__()
        self.made: list[Object] = []
        self.code, left = code, itertools.count(refusals, -1)
        self.put(kinds.NAMESPACE, OWNER)
        error = Forbidden(403, "Forbidden", "no service account yet")
        self.refusal = lambda _, body: error if body.get("kind") == "Pod" and next(left) > 0 else None

    async def create(self, kind: Kind, body: Object, **_: Any) -> Object:
        made = await super().create(kind, body)
        if made["metadata"]["name"] == keeper.LISTENER:
            made = self.put(kind, made | {"status": {"phase": "Running", "podIP": "10.42.0.9"}})
        elif kind == kinds.POD and self.code is not None:
            made = self.put(kind, made | build_pod("Failed" if self.code else "Succeeded", self.code))
        self.made.append(made)
        return made

    async def apply(self, kind: Kind, body: Object, **_: Any) -> Object:
        self.made.append(body)
        return body

    @property
    def deleted(self) -> list[str]:
        return [line.rpartition(" ")[2] for line in self.asked if line.startswith("DELETE namespaces ")]


def build(host: FakeHost) -> tuple[Enforcement, Context, list[str]]:
    scene, told = Scene(), list[str]()
    context = scene.context
    context.api = cast(Api, host)
    context.settings = Settings(image="nestor:1", network_probe=True)
    context.wake = lambda kind, name, namespace: told.append(f"{kind.name} {name}")
    return Enforcement(context), context, told


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "POLL_SECONDS", 0.001)


async def try_once(enforcement: Enforcement) -> Verdict:
    return await vars(Enforcement)["_try"](enforcement)  # type: ignore[no-any-return]


async def test_a_probe_makes_two_pods_with_policies_between_them_and_leaves_nothing() -> None:
    host = FakeHost(refusals=2)
    enforcement, _, _ = build(host)
    assert await try_once(enforcement) == Verdict(Exit.ENFORCED)
    namespace, first, second, listener, caller = host.made
    name = namespace["metadata"]["name"]
    assert name.startswith("nestor-probe-")
    assert keeper.is_scratch(namespace, OWNER)
    assert {item["metadata"]["namespace"] for item in (first, second, listener, caller)} == {name}
    assert host.deleted == [name]
    assert caller["spec"]["containers"][0]["args"] == ["probe", "call", "10.42.0.9"]
    assert listener["spec"]["containers"][0]["args"] == ["probe", "listen"]
    assert {pod["spec"]["containers"][0]["image"] for pod in (listener, caller)} == {"nestor:1"}
    assert not any(pod["spec"]["automountServiceAccountToken"] or "imagePullSecrets" in pod["spec"] for pod in (listener, caller))


async def test_its_pods_pull_their_image_as_others_of_ours_do() -> None:
    host, data = FakeHost(), base64.b64encode(b'{"auths": {"docker.io": {"auth": "x"}}}').decode()
    meta = {"name": "house", "namespace": "nestor-system"}
    host.put(kinds.SECRET, {"metadata": meta, "data": {".dockerconfigjson": data}})
    enforcement, context, _ = build(host)
    context.settings = Settings(image="nestor:1", image_pull_secrets=("house",))
    context.provisioner = Context.create(cast(Api, host), context.settings, context.cache, context.host).provisioner
    await try_once(enforcement)
    *_, secret, listener, caller = host.made
    assert (secret["type"], secret["metadata"]["namespace"]) == ("kubernetes.io/dockerconfigjson", host.deleted[0])
    named = [{"name": secret["metadata"]["name"]}]
    assert [pod["spec"]["imagePullSecrets"] for pod in (listener, caller)] == [named, named]


def test_each_policy_forbids_one_port_that_the_other_one_allows() -> None:
    listener, caller = (item["spec"] for item in keeper.build_policies("x"))
    (ingress,), (egress,) = listener["ingress"], caller["egress"]
    taken = [{port["port"] for port in rule["ports"]} for rule in (ingress, egress)]
    assert taken == [{OPEN_PORT, EGRESS_PORT}, {OPEN_PORT, INGRESS_PORT}]
    assert ingress["from"][0]["podSelector"] == caller["podSelector"]
    assert egress["to"][0]["podSelector"] == listener["podSelector"]
    pods = [keeper.build_pod("x", name, Settings(image="i")) for name in (keeper.LISTENER, keeper.CALLER)]
    for pod, policy in zip(pods, (listener, caller), strict=True):
        assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        assert policy["policyTypes"] == ["Ingress", "Egress"]


async def test_what_an_earlier_operator_left_behind_goes_and_nobody_elses() -> None:
    host = FakeHost()
    enforcement, context, _ = build(host)
    left = keeper.build_namespace("nestor-probe-left", OWNER)
    foreign = keeper.build_namespace("nestor-probe-foreign", {"metadata": {"name": "other", "uid": "other"}})
    other_name = keeper.build_namespace("team-a", OWNER)
    store = context.cache.informers[kinds.NAMESPACE].store
    for item in (left, foreign, other_name):
        store[("", item["metadata"]["name"])] = {**item, "metadata": item["metadata"] | {"uid": "u"}}
    await try_once(enforcement)
    assert host.deleted[0] == "nestor-probe-left"
    assert len(host.deleted) == 2


async def test_a_probe_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(code=None)
    enforcement, _, _ = build(host)
    monkeypatch.setattr(keeper, "LIMIT_SECONDS", 0.05)
    assert (await try_once(enforcement)).problem.startswith("its pods did not end within")
    assert len(host.deleted) == 1


async def test_what_the_host_refuses_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(refusals=10**6)
    enforcement, _, _ = build(host)
    monkeypatch.setattr(keeper, "ACCOUNT_TRIES", 1)
    assert (await try_once(enforcement)).problem == "the host refuses it: no service account yet"
    assert len(host.deleted) == 1


async def test_the_next_probe_is_seldom_and_a_known_verdict_stays() -> None:
    enforcement, _, told = build(FakeHost())
    take = vars(Enforcement)["_take"]
    unknown = Verdict(None, "no room")
    assert [take(enforcement, unknown) for _ in range(7)] == [60, 120, 240, 480, 960, 1800, 1800]
    assert enforcement.verdict == unknown
    assert take(enforcement, Verdict(Exit.NEITHER)) == OPEN_SECONDS
    assert take(enforcement, Verdict(Exit.ENFORCED)) == ENFORCED_SECONDS
    assert take(enforcement, unknown) == UNKNOWN_SECONDS[0]
    assert enforcement.verdict == Verdict(Exit.ENFORCED)
    assert told == ["NestedClass default"] * 9


UNGUARDED = {"type": "NetworkEnforced", "status": "False", "reason": "NetworkNotEnforced", "message": "x"}
ENFORCED = ("True", "PoliciesEnforced", "are enforced")


@pytest.mark.parametrize(
    ("verdict", "unenforced", "before", "expected"),
    [
        (None, "Refuse", [], None),
        (CLOSED, "Warn", [UNGUARDED], ENFORCED),
        (CLOSED, "Accept", [], ENFORCED),
        (OPEN, "Warn", [], ("False", "NetworkNotEnforced", "install a network plugin")),
        (OPEN, "Refuse", [], ("False", "NetworkNotEnforced", "does not enforce NetworkPolicies: ")),
        (Verdict(Exit.NO_EGRESS), "Warn", [], ("False", "NetworkNotEnforced", "for what pods connect to")),
        (Verdict(Exit.NO_INGRESS), "Warn", [], ("False", "NetworkNotEnforced", "for who connects to pods")),
        (OPEN, "Accept", [], ("False", "UnenforcedAccepted", "the class accepts it")),
        (UNKNOWN, "Accept", [], ("Unknown", "NetworkNotProbed", "no room")),
        # Without a probe, nothing is said but what was said before is taken back, and why no job comes in.
        (NO_PROBE, "Warn", [], None),
        (NO_PROBE, "Warn", [UNGUARDED], ("Unknown", "NetworkNotProbed", "")),
        (NO_PROBE, "Refuse", [], ("Unknown", "NetworkNotProbed", "")),
    ],
)
def test_what_is_said_of_a_class(
    verdict: Verdict | None, unenforced: str, before: list[Object], expected: tuple[str, str, str] | None
) -> None:
    enforcement, context, _ = build(FakeHost())
    context.settings = Settings(image="nestor:1", network_probe=verdict is not NO_PROBE)
    enforcement.verdict = verdict
    found = enforcement.judge({"status": {"conditions": before}}, build_policy(network={"unenforced": unenforced}))
    assert (found and (found.type, found.status, found.reason)) == (expected and ("NetworkEnforced", *expected[:2]))
    assert not (found and expected) or expected[2] in found.message


async def test_without_a_probe_the_verdict_is_why() -> None:
    host = FakeHost()
    enforcement, context, told = build(host)
    context.settings = Settings(image="nestor:1", network_probe=False)
    await asyncio.wait_for(enforcement.run(), 60)
    assert enforcement.verdict == Verdict(None, "`operator.networkProbe` is false in the chart's values")
    assert (told, host.made) == (["NestedClass default"], [])
