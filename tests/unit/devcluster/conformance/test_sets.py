"""The sets of tests, and what is chosen from them."""

from __future__ import annotations

import pytest

from devcluster.conformance import sets

POD, JOB = "[sig-node] Pods should start [Conformance]", "[sig-apps] Jobs end [Conformance]"
DENY = "[sig-network] Netpol NetworkPolicy between server and client should support a 'deny-all' policy [Feature:NetworkPolicy]"
API = "[sig-network] Netpol API should support creating NetworkPolicy API operations"
OTHER = "[sig-network] Networking should function: sctp [Feature:SCTPConnectivity]"
CONFORMANCE = f"- testname: B\n  codename: '{POD}'\n- testname: A\n  codename: '[sig-apps] Jobs end\n    [Conformance]'\n"
EVERYTHING = f"""The following spec names can be used with 'ginkgo run --focus/skip':
    ../../network/netpol/network_policy.go:110: {DENY}
    ../../network/netpol/network_policy_api.go:52: {API}
    ../../network/networking.go:177: {OTHER}
    ../../common/node/pods.go:1: {POD}

"""
NAMES = {sets.CONFORMANCE: [JOB, POD], sets.POLICIES: [API, DENY]}


def test_the_suites_lists_are_read() -> None:
    assert sets.parse(CONFORMANCE, EVERYTHING) == {"conformance": [JOB, POD], "netpol": [API, DENY]}


def test_each_test_belongs_to_one_set() -> None:
    assert sets.only(sets.POLICIES, [POD, DENY, JOB, API]) == [DENY, API]
    assert sets.only(sets.CONFORMANCE, [POD, DENY, JOB, API]) == [POD, JOB]


def test_a_focus_chooses_by_name_within_a_set() -> None:
    assert sets.choose(NAMES, "conformance", "") == [JOB, POD]
    assert sets.choose(NAMES, "conformance", "sig-apps|nothing") == [JOB]
    assert sets.choose(NAMES, "netpol", "deny") == [DENY]


@pytest.mark.parametrize(
    ("which", "pattern", "message"),
    [
        ("netpol", "[", "FOCUS must be"),
        ("conformance", "Netpol", "FOCUS 'Netpol' finds none of the 2 tests of TESTS=conformance"),
        ("all", "", "TESTS must be conformance or netpol, not 'all'"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(which: str, pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sets.choose(NAMES, which, pattern)
