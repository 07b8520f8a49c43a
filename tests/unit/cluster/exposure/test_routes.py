"""From targets to routes: hosts, names of Ingresses, and why a target is not exposed."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nestor.api import conditions, names
from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy, JobExpose
from nestor.cluster.exposure.routes import ExposedJob, plan_routes
from tests.unit.cluster.exposure.builders import plan, target

WEB, API = target(), target("api", 9090)
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def labels_of(*targets: Target) -> list[str | None]:
    """The first labels of the hosts."""
    return [route.host and route.host.partition(".")[0] for route in plan(*targets)]


def test_the_first_target_has_the_jobs_host_and_the_others_their_services() -> None:
    first, second = plan(WEB, API)
    assert (first.host, first.url, first.ingress) == ("shop-team-a.jobs.test", "http://shop-team-a.jobs.test/", "shop")
    assert (second.host, second.url) == ("api--shop-team-a.jobs.test", "http://api--shop-team-a.jobs.test/")
    assert second.ingress.startswith("shop-api-")
    assert all(route.is_open and route.is_requested and route.is_default for route in (first, second))


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        # The first target takes no name of a Service, so the next of the same Service is plain.
        ([WEB, target(port=9090)], ["shop-team-a", "web--shop-team-a"]),
        ([API, WEB, target(port=9090)], ["shop-team-a", "web--shop-team-a", "web-9090--shop-team-a"]),
        ([API, WEB, target(namespace="b")], ["shop-team-a", "web--shop-team-a", "web-8080--shop-team-a"]),
        # A Service of another's name with its port.
        (
            [API, target("web-9090"), WEB, target(port=9090)],
            ["shop-team-a", "web-9090--shop-team-a", "web--shop-team-a", "web-90557570--shop-team-a"],
        ),
        # Dashes third and fourth are reserved in host names.
        ([WEB, target("ui", 80), target("xn", 80)], ["shop-team-a", "ui-80--shop-team-a", "xn-80--shop-team-a"]),
        ([WEB, target("a", 1)], ["shop-team-a", "a--shop-team-a"]),
    ],
)
def test_targets_of_one_service_have_hosts_of_their_own(targets: list[Target], expected: list[str]) -> None:
    assert labels_of(*targets) == expected


def test_what_a_job_asks_for_is_not_given_to_another_of_its_targets() -> None:
    first, second = plan(WEB, API, host="api--shop-team-a.jobs.test")
    assert first.host == "api--shop-team-a.jobs.test"
    assert second.host == "api-9090--shop-team-a.jobs.test"


def test_further_targets_stay_below_the_classs_domain_whatever_host_the_job_asks_for() -> None:
    first, second = plan(WEB, API, host="shop.example", policy={"allowedHosts": ["shop.example"]})
    assert (first.host, first.is_default) == ("shop.example", False)
    assert (second.host, second.is_default) == ("api--shop-team-a.jobs.test", True)


def test_without_all_targets_the_others_are_listed_with_the_reason() -> None:
    first, second = plan(WEB, API, allTargets=False)
    assert first.is_open
    assert (second.is_open, second.is_requested, second.host, second.url) == (False, False, None, None)
    assert second.refusal == (
        conditions.NOT_REQUESTED,
        "not exposed: only the AppDef's first target is, unless the job sets `expose.allTargets: true`",
    )


def test_a_class_without_a_domain_has_no_hosts_to_give() -> None:
    first, second = plan(WEB, API, policy={"domain": None})
    assert (first.refusal or ("",))[0] == conditions.NOT_REQUESTED
    assert not first.is_requested
    asked, second = plan(WEB, API, policy={"domain": None, "allowedHosts": ["shop.example"]}, host="shop.example")
    assert asked.is_open
    assert second.refusal == (
        conditions.HOST_NOT_ALLOWED,
        "Service 'api' is an additional target and gets no host: class 'default' has no `expose.domain`",
    )


def test_a_host_that_is_not_allowed_takes_the_first_target_only() -> None:
    first, second = plan(WEB, API, host="bank.example")
    assert (first.refusal or ("",))[0] == conditions.HOST_NOT_ALLOWED
    assert first.is_requested
    assert second.is_open


def test_targets_that_are_named_twice_are_one() -> None:
    routes = plan(WEB, API, WEB, API, WEB)
    assert [route.target for route in routes] == [WEB, API]
    assert [route.note for route in routes] == [
        "listed 3 times in the AppDef's `targets`, exposed once",
        "listed 2 times in the AppDef's `targets`, exposed once",
    ]


def test_a_service_whose_name_would_make_a_reserved_label_gets_another() -> None:
    _, second, third = plan(WEB, target("my--app"), target("my-app"))
    assert second.host != third.host == "my-app--shop-team-a.jobs.test"
    assert re.fullmatch(r"my-app-[0-9a-f]+--shop-team-a\.jobs\.test", second.host or "")


NAMES = st.from_regex(LABEL, fullmatch=True)


@example([WEB, target("00--0")], "0", "0")
@given(
    st.lists(st.builds(target, NAMES, st.integers(1, 65535), NAMES), max_size=50),
    st.from_regex(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?", fullmatch=True),
    NAMES,
)
def test_all_hosts_are_valid_and_different(targets: list[Target], name: str, namespace: str) -> None:
    routes = plan(*targets, name=name, namespace=namespace)
    hosts = [route.host or "" for route in routes]
    assert len(set(hosts)) == len({route.ingress for route in routes}) == len(routes) == len(set(map(str, targets)))
    for host in hosts:
        label, _, domain = host.partition(".")
        assert LABEL.fullmatch(label)
        assert domain == "jobs.test"
    for host in hosts[1:]:
        assert host[2:4] != "--"


def test_a_label_that_others_may_have_gets_a_hash_in_all_hosts() -> None:
    wish, policy = JobExpose(all_targets=True), ExposePolicy(domain="jobs.test")
    first, second = plan_routes(ExposedJob("shop", "team-a", "default", wish, policy, is_shared=True), (WEB, API))
    other, _ = plan_routes(ExposedJob("shop-team", "a", "default", wish, policy, is_shared=True), (WEB, API))
    assert first.host == names.default_host("shop", "team-a", "jobs.test", is_shared=True) != other.host
    assert (first.is_default, second.is_default) == (True, True)
    assert str(second.host).startswith("api--shop-team-a-")
    assert str(second.host).endswith(".jobs.test")
