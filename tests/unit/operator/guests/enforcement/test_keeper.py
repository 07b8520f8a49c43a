"""The probe: its objects, its end, what is left behind, and when the next one is due."""

from __future__ import annotations

import asyncio
import copy
from typing import Any, cast

import pytest

from nestor.kube import Api, Forbidden, Kind, kinds
from nestor.operator.guests.enforcement import keeper
from nestor.operator.guests.enforcement.keeper import ENFORCED_SECONDS, OPEN_SECONDS, UNKNOWN_SECONDS, Enforcement
from nestor.operator.guests.enforcement.probe import EGRESS_PORT, INGRESS_PORT, OPEN_PORT, Exit
from nestor.operator.guests.enforcement.verdict import Verdict
from nestor.operator.settings import Settings
from nestor.operator.world.context import Context
from tests.unit.operator.builders import build_policy
from tests.unit.operator.scene import Scene

Object = dict[str, Any]
OWNER = {"metadata": {"name": "nestor-system", "uid": "system"}}


class FakeHost:
    """Runs the probe's pods, as far as the operator can tell."""

    def __init__(self, code: int | None = 0, refusals: int = 0) -> None:
        self.code = code
        self.refusals = refusals
        self.made: list[Object] = []
        self.pods: list[Object] = []
        self.deleted: list[str] = []

    async def get(self, kind: Kind, name: str) -> Object:
        assert (kind, name) == (kinds.NAMESPACE, "nestor-system")
        return OWNER

    async def create(self, kind: Kind, body: Object) -> Object:
        """Pods end, or listen, at once."""
        if kind == kinds.POD and self.refusals:
            self.refusals -= 1
            raise Forbidden(403, "Forbidden", "no service account yet")
        made = copy.deepcopy(body)
        made["metadata"]["uid"] = f"uid-{len(self.made)}"
        self.made.append(made)
        if kind == kinds.POD:
            if made["metadata"]["name"] == keeper.LISTENER:
                made["status"] = {"phase": "Running", "podIP": "10.42.0.9"}
            elif self.code is not None:
                ended = {"state": {"terminated": {"exitCode": self.code}}}
                made["status"] = {"phase": "Failed" if self.code else "Succeeded", "containerStatuses": [ended]}
            self.pods.append(made)
        return made

    async def apply(self, kind: Kind, body: Object) -> Object:
        self.made.append(body)
        return body

    async def list_trimmed(self, kind: Kind, trim: Any, namespace: str, *, fields: str) -> list[Object]:
        assert kind == kinds.POD
        name = fields.removeprefix("metadata.name=")
        return [
            trim(item) for item in self.pods if (item["metadata"]["namespace"], item["metadata"]["name"]) == (namespace, name)
        ]

    async def delete(self, kind: Kind, name: str, uid: str = "") -> bool:
        assert kind == kinds.NAMESPACE
        self.deleted.append(name)
        return True


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


async def probe(enforcement: Enforcement) -> Verdict:
    return await vars(Enforcement)["_try"](enforcement)  # type: ignore[no-any-return]


async def test_a_probe_makes_two_pods_with_policies_between_them_and_leaves_nothing() -> None:
    host = FakeHost(refusals=2)
    enforcement, _, _ = build(host)
    assert await probe(enforcement) == Verdict(Exit.ENFORCED)
    namespace, first, second, listener, caller = host.made
    name = namespace["metadata"]["name"]
    assert name.startswith("nestor-probe-")
    assert keeper.is_scratch(namespace, OWNER)
    assert {item["metadata"]["namespace"] for item in (first, second, listener, caller)} == {name}
    assert host.deleted == [name]
    assert caller["spec"]["containers"][0]["args"] == ["probe", "call", "10.42.0.9"]
    assert listener["spec"]["containers"][0]["args"] == ["probe", "listen"]
    assert {pod["spec"]["containers"][0]["image"] for pod in (listener, caller)} == {"nestor:1"}
    assert not any(pod["spec"]["automountServiceAccountToken"] for pod in (listener, caller))


def test_each_policy_forbids_one_port_that_the_other_one_allows() -> None:
    listener, caller = (item["spec"] for item in keeper.build_policies("x"))
    (ingress,), (egress,) = listener["ingress"], caller["egress"]
    taken = [{port["port"] for port in rule["ports"]} for rule in (ingress, egress)]
    assert taken == [{OPEN_PORT, EGRESS_PORT}, {OPEN_PORT, INGRESS_PORT}]
    assert ingress["from"][0]["podSelector"] == caller["podSelector"]
    assert egress["to"][0]["podSelector"] == listener["podSelector"]
    pods = [keeper.build_listener("x", Settings(image="i")), keeper.build_caller("x", Settings(image="i"), "10.0.0.1")]
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
    await probe(enforcement)
    assert host.deleted[0] == "nestor-probe-left"
    assert len(host.deleted) == 2


async def test_a_probe_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(code=None)
    enforcement, _, _ = build(host)
    monkeypatch.setattr(keeper, "LIMIT_SECONDS", 0.05)
    assert (await probe(enforcement)).problem.startswith("its pods did not end within")
    assert len(host.deleted) == 1


async def test_what_the_host_refuses_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FakeHost(refusals=10**6)
    enforcement, _, _ = build(host)
    monkeypatch.setattr(keeper, "_ACCOUNT_SECONDS", 0.05)
    assert (await probe(enforcement)).problem == "the host refuses it: no service account yet"
    assert len(host.deleted) == 1


async def test_the_next_probe_is_seldom_and_a_known_verdict_stays() -> None:
    enforcement, _, told = build(FakeHost())
    take = vars(Enforcement)["_take"]
    unknown = Verdict(None, "no room")
    assert [take(enforcement, unknown) for _ in range(4)] == [*UNKNOWN_SECONDS, UNKNOWN_SECONDS[-1]]
    assert enforcement.verdict == unknown
    assert take(enforcement, Verdict(Exit.NEITHER)) == OPEN_SECONDS
    assert take(enforcement, Verdict(Exit.ENFORCED)) == ENFORCED_SECONDS
    assert take(enforcement, unknown) == UNKNOWN_SECONDS[0]
    assert enforcement.verdict == Verdict(Exit.ENFORCED)
    assert told == ["NestedClass default"] * 6


OPEN = {"type": "NetworkEnforced", "status": "False", "reason": "NetworkNotEnforced", "message": "x"}


@pytest.mark.parametrize(
    ("has_probe", "verdict", "unenforced", "before", "expected"),
    [
        (True, None, "Refuse", [], None),
        (True, Verdict(Exit.NEITHER), "Warn", [], ("False", "NetworkNotEnforced")),
        (True, Verdict(Exit.ENFORCED), "Warn", [OPEN], ("True", "PoliciesEnforced")),
        # Without a probe, nothing is said but what was said before is taken back, and why no job comes in.
        (False, Verdict(None, "no probe"), "Warn", [], None),
        (False, Verdict(None, "no probe"), "Warn", [OPEN], ("Unknown", "NetworkNotProbed")),
        (False, Verdict(None, "no probe"), "Refuse", [], ("Unknown", "NetworkNotProbed")),
    ],
)
def test_what_is_said_of_a_class(
    has_probe: bool, verdict: Verdict | None, unenforced: str, before: list[Object], expected: tuple[str, str] | None
) -> None:
    enforcement, context, _ = build(FakeHost())
    context.settings = Settings(image="nestor:1", network_probe=has_probe)
    enforcement.verdict = verdict
    found = enforcement.judge({"status": {"conditions": before}}, build_policy(network={"unenforced": unenforced}))
    assert (found and (found.status, found.reason)) == expected


async def test_without_a_probe_the_verdict_is_why() -> None:
    host = FakeHost()
    enforcement, context, told = build(host)
    context.settings = Settings(image="nestor:1", network_probe=False)
    await asyncio.wait_for(enforcement.run(), 60)
    assert enforcement.verdict == Verdict(None, "`operator.networkProbe` is false in the chart's values")
    assert (told, host.made) == (["NestedClass default"], [])
