"""When a target counts as exposed, and when the job does."""

from dataclasses import replace

import pytest

from nestor.api import conditions
from nestor.cluster.exposure.exposed import Exposure, TargetView, decide_exposed, list_targets
from tests.unit.cluster.exposure.builders import Object, endpoints, plan, service, target, view

FIRST, SECOND, THIRD = plan(target(), target("api", 8080), target("db", 8080, "data"))
GOOD = view(FIRST)
IN_DEFAULT = "in namespace 'default' of the nested cluster"


def statuses(*views: TargetView) -> list[Object]:
    """What the job's status says of its targets."""
    return list_targets(Exposure(views)) or []


@pytest.mark.parametrize(
    ("seen", "reason", "message"),
    [
        (view(replace(FIRST, refusal=("HostnameConflict", "taken"))), conditions.HOSTNAME_CONFLICT, "taken"),
        (view(FIRST, service=None), conditions.TARGET_NOT_FOUND,
         f"no Service named 'web' {IN_DEFAULT} (Services without a cluster IP or a selector do not count)"),
        (view(FIRST, service=service({"port": 80}, {"port": 443})), conditions.TARGET_NOT_FOUND,
         f"Service 'web' {IN_DEFAULT} has no TCP port 8080; its ports: 80, 443"),
        (view(FIRST, service=service({"port": 8080, "protocol": "UDP"})), conditions.TARGET_NOT_FOUND,
         f"Service 'web' {IN_DEFAULT} has no TCP port 8080; its ports: 8080 (UDP)"),
        (view(FIRST, service={"spec": {}}), conditions.TARGET_NOT_FOUND,
         f"Service 'web' {IN_DEFAULT} has no TCP port 8080; its ports: none"),
        (
            view(FIRST, service=service(*({"port": port, "protocol": "UDP"} for port in range(1, 401)))),
            conditions.TARGET_NOT_FOUND,
            f"Service 'web' {IN_DEFAULT} has no TCP port 8080; its ports: "
            + ", ".join(f"{port} (UDP)" for port in range(1, 21))
            + ", … 380 more",
        ),
        (view(FIRST, slices=[]), conditions.NO_READY_ENDPOINT, f"no pod of Service 'web' {IN_DEFAULT} is ready"),
        (view(FIRST, {"endpoints": None}), conditions.NO_READY_ENDPOINT, f"no pod of Service 'web' {IN_DEFAULT} is ready"),
        (view(FIRST, endpoints(is_ready=False)), conditions.NO_READY_ENDPOINT, f"no pod of Service 'web' {IN_DEFAULT} is ready"),
        (view(FIRST, endpoints(addresses=0)), conditions.NO_READY_ENDPOINT, f"no pod of Service 'web' {IN_DEFAULT} is ready"),
        (view(FIRST, endpoints(port=None)), conditions.NO_READY_ENDPOINT,
         f"no ready pod of Service 'web' {IN_DEFAULT} has a port named 'http', the `targetPort` of port 8080"),
    ],
)  # fmt: skip
def test_a_target_that_is_not_reached_says_why(seen: TargetView, reason: str, message: str) -> None:
    condition = decide_exposed(Exposure((seen,)))
    assert (condition.status, condition.reason, condition.message) == ("False", reason, message)
    (entry,) = statuses(seen)
    assert (entry["ready"], entry["message"]) == (False, message)


@pytest.mark.parametrize(
    "slices", [[endpoints()], [endpoints(is_ready=None)], [endpoints(is_ready=False), endpoints(port=None), endpoints()]]
)
def test_one_ready_endpoint_with_the_port_is_enough(slices: list[Object]) -> None:
    condition = decide_exposed(Exposure((view(FIRST, *slices),)))
    assert (condition.status, condition.reason) == ("True", conditions.INGRESS_READY)
    assert condition.message == "available at http://shop-team-a.jobs.test/"


def test_a_port_without_a_name_is_found_by_it() -> None:
    unnamed = endpoints()
    unnamed["ports"] = [{"name": "", "port": 8080}]
    assert decide_exposed(Exposure((view(FIRST, unnamed, service=service({"port": 8080})),))).status == "True"


def test_all_targets_must_be_reached() -> None:
    both = Exposure((GOOD, view(SECOND)))
    said = "available at http://shop-team-a.jobs.test/, and 1 more at the URLs in `status.targets`"
    assert decide_exposed(both).message == said
    one = decide_exposed(Exposure((GOOD, view(SECOND, slices=[]))))
    assert (one.status, one.reason) == ("False", conditions.NO_READY_ENDPOINT)
    assert one.message == f"no pod of Service 'api' {IN_DEFAULT} is ready"
    none = decide_exposed(Exposure((view(FIRST, slices=[]), view(SECOND, service=None), view(THIRD, slices=[]))))
    assert (
        none.message == f"no pod of Service 'web' {IN_DEFAULT} is ready; 2 more of 3 targets are not ready, see `status.targets`"
    )


def test_targets_that_the_job_does_not_ask_for_are_told_and_not_awaited() -> None:
    asked, other = plan(target(), target("api"), allTargets=False)
    exposure = Exposure((view(asked), view(other)))
    assert decide_exposed(exposure).status == "True"
    entry = statuses(*exposure.targets)[1]
    assert entry["ready"] is False
    assert "`expose.allTargets: true`" in entry["message"]


def test_nothing_to_expose_is_told_apart() -> None:
    assert decide_exposed(Exposure()).message == "the AppDef names no target"
    condition = decide_exposed(Exposure((view(plan(target(), policy={"domain": None})[0]),)))
    assert condition.reason == conditions.NOT_REQUESTED
    assert condition.message == "the class has no `expose.domain`, and the job sets no `expose.host`"
    assert (Exposure().url, list_targets(Exposure())) == (None, None)


def test_the_url_of_the_job_is_the_first_targets_once_it_has_an_ingress() -> None:
    assert Exposure((view(FIRST, slices=[]),)).url == FIRST.url
    assert Exposure((view(replace(FIRST, refusal=("x", "y"))), view(SECOND))).url is None
