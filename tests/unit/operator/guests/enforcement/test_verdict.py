"""What the probe's result comes to: in a class's condition, in jobs, and for jobs that a class refuses."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions
from nestor.operator.guests.enforcement.probe import Exit
from nestor.operator.guests.enforcement.verdict import Verdict, decide_condition, explain_open, find_denial, read_verdict
from tests.unit.operator.builders import build_policy

Object = dict[str, Any]
OPEN, CLOSED, UNKNOWN = Verdict(Exit.NEITHER), Verdict(Exit.ENFORCED), Verdict(None, "no room")


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


@pytest.mark.parametrize(
    ("verdict", "unenforced", "status", "reason", "said"),
    [
        (CLOSED, "Warn", "True", "PoliciesEnforced", "are enforced"),
        (CLOSED, "Accept", "True", "PoliciesEnforced", "are enforced"),
        (OPEN, "Warn", "False", "NetworkNotEnforced", "install a network plugin"),
        (OPEN, "Refuse", "False", "NetworkNotEnforced", "does not enforce NetworkPolicies: "),
        (Verdict(Exit.NO_EGRESS), "Warn", "False", "NetworkNotEnforced", "for what pods connect to"),
        (Verdict(Exit.NO_INGRESS), "Warn", "False", "NetworkNotEnforced", "for who connects to pods"),
        (OPEN, "Accept", "False", "UnenforcedAccepted", "the class accepts it"),
        (UNKNOWN, "Accept", "Unknown", "NetworkNotProbed", "no room"),
    ],
)
def test_the_condition_of_a_class(verdict: Verdict, unenforced: str, status: str, reason: str, said: str) -> None:
    found = decide_condition(verdict, build_policy(network={"unenforced": unenforced}))
    assert (found.type, found.status, found.reason) == ("NetworkEnforced", status, reason)
    assert said in found.message


def build_class(verdict: Verdict | None, unenforced: str) -> tuple[Object, Any]:
    spec = build_policy(network={"unenforced": unenforced})
    found = [vars(decide_condition(verdict, spec))] if verdict else []
    return {"metadata": {"name": "default", "uid": "c"}, "status": {"conditions": found}}, spec


@pytest.mark.parametrize("verdict", [OPEN, CLOSED, UNKNOWN, None])
@pytest.mark.parametrize("unenforced", ["Warn", "Refuse", "Accept"])
def test_jobs_say_so_until_an_admin_accepts_it(verdict: Verdict | None, unenforced: str) -> None:
    said = explain_open(*build_class(verdict, unenforced), "default")
    assert bool(said) == (verdict == OPEN and unenforced != "Accept")
    if said:
        assert said.startswith("this cluster does not enforce NetworkPolicies: pods of jobs can reach")
        assert "class 'default' (`network.unenforced: Accept`)" in said


def test_nothing_is_said_without_a_class() -> None:
    assert explain_open(None, build_policy(), "default") == ""


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
