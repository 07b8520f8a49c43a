"""The page of attacks, from the lists that the tests run."""

from collections.abc import Iterable
from typing import Protocol

from tests.e2e import attacks
from tests.integration.cli import stolen_portal
from tests.integration.operator import squatting, stolen, stolen_syncer, stolen_wishes

INTRODUCTION = """\
# Attacks

What the tests of isolation try, from the lists that they run: `python -m tests.reference` writes this page.
[Security](../security.md) says what stands in the way, [Refusals](refusals.md) what else is refused.

Each attack must fail although its target exists: a user's pod or a node reaches the same target first. And each attacker reaches
what it must: its own pods, Services, names and API server, and the internet where the class allows it. A pod with their addresses
stands in for metadata services, private networks and the internet. All app pods carry labels of Nestor's own components and of
the host's DNS, and both clusters have a NetworkPolicy that allows everything. An attack that nobody answers is neither open nor
refused: it is made again, and fails the test if it stays so.

Two more tests show that the attacks could succeed:
`tests/e2e/test_isolation_pods.py::test_what_no_job_reaches_is_there_for_others`, for the targets, and
`tests/e2e/test_isolation_admin.py::test_the_ways_of_the_attacks_lead_to_the_clusters_own_pods`, for the ways of nested admins.
"""
_PODS = "tests/e2e/test_isolation_pods.py::test_an_app_pod"
_ADMIN = "tests/e2e/test_isolation_admin.py::test_"
_CREDENTIALS = f"{_ADMIN}credentials_of_a_nested_cluster_are_worth_nothing_elsewhere"
_OPERATOR = "tests/integration/operator/test_"
ADMIN_TESTS = {
    "pod-proxy-api-host": f"{_ADMIN}no_proxy_leads_to_other_ports_of_the_api_servers_machine",
    "pod-proxy-host-api": f"{_ADMIN}the_hosts_api_server_takes_a_nested_admin_for_nobody",
    "pod-proxy-internet": f"{_ADMIN}no_proxy_leads_to_the_internet_where_the_class_allows_none",
    "forged-endpoints": f"{_ADMIN}forged_endpoints_do_not_reach_the_host",
    "token-at-host": _CREDENTIALS,
    "certificate-at-host": _CREDENTIALS,
    "certificate-at-victim": _CREDENTIALS,
    "labels-of-components": f"{_ADMIN}no_label_makes_a_pod_a_component",
    "policy-allow-all": f"{_ADMIN}a_nested_policy_that_allows_everything_opens_nothing",
}
"""Of a nested admin's attacks, those with a test of their own."""


class Attack(Protocol):
    """What each list has of an attack."""

    @property
    def id(self) -> str: ...
    @property
    def says(self) -> str: ...


def build_page() -> str:
    """A table for each attacker."""
    admin = "".join(
        _build_row(f"admin/{name}", says, ADMIN_TESTS.get(name, f"{_ADMIN}no_proxy_webhook_or_aggregated_api_leads_out"))
        for name, says in attacks.ADMIN.items()
    )
    thief = "a_thief_of_"
    return INTRODUCTION + "".join(
        (
            _build("From an app pod, as root", "app", attacks.APP, f"{_PODS}_does_not_reach"),
            _build(
                "From an app pod of a job without internet", "closed", attacks.CLOSED, f"{_PODS}_without_internet_does_not_reach"
            ),
            _build(
                "From a runner of a job without internet",
                "runner",
                attacks.RUNNER,
                "tests/e2e/test_isolation_runner.py::test_a_runner_does_not_reach",
            ),
            _build("By the admin of a nested cluster", "admin", (), "") + admin,
            _build(
                "With the operator's token",
                "operator",
                (*stolen.ATTACKS, *stolen_wishes.ATTACKS),
                f"{_OPERATOR}stolen_token.py::test_{thief}the_operators_token_does_not_get",
                "Its roles allow it to write in all namespaces; policies of the chart say which objects.",
            ),
            _build(
                "With a syncer's token",
                "syncer",
                stolen_syncer.ATTACKS,
                f"{_OPERATOR}stolen_syncer.py::test_{thief}a_syncers_token_does_not_get",
                "Its role covers the namespace of its job, where more than copies of nested objects is.",
            ),
            _build(
                "With the portal's token",
                "portal",
                stolen_portal.ATTACKS,
                f"tests/integration/cli/test_portal.py::test_{thief}the_portals_token_does_not_get",
                "The portal acts for a user who may do all of this. Kubernetes 1.36 and later keeps it to what its pages do.",
            ),
            _build(
                "By whoever may write Ingresses",
                "user",
                squatting.ATTACKS,
                f"{_OPERATOR}squatting.py::test_nobody_else_gets_a_host_of_a_job",
                "In a namespace of their own, with rights to Ingresses and HTTPRoutes.",
            ),
        )
    )


def _build(title: str, who: str, listed: Iterable[Attack], test: str, introduction: str = "") -> str:
    rows = "".join(_build_row(f"{who}/{attack.id}", attack.says, test) for attack in listed)
    about = f"{introduction}\n\n" if introduction else ""
    return f"\n## {title}\n\n{about}| id | it tries to get or reach | test |\n|---|---|---|\n{rows}"


def _build_row(name: str, says: str, test: str) -> str:
    return f"| `{name}` | {says} | `{test}` |\n"
