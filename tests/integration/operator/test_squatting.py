"""Whoever may write Ingresses and routes gets no host of a job's: not before the job has it, and not while it runs."""

from collections.abc import AsyncIterator

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, Forbidden, Kind, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import ACCOUNT
from tests.integration.operator.squatting import ATTACKS, BELOW, DOMAIN, HOST, LISTED, REFUSED, ingress, route
from tests.integration.operator.stolen import MARKED, RBAC, STRANGER, TAKEN, Attack
from tests.integration.operator.test_gateway import define
from tests.integration.operator.test_stolen_token import BASELINE, body_of, ensure, send
from tests.integration.operator.world import build_class
from tests.waiting import eventually

USER = "mallory"
DEPLOYER = "deployer"
"""Whom the chart's values let write hosts of jobs."""
HOME, LABELED = "nestor-a-hosts-0123abcd", "labeled"
SOLVER = "system:serviceaccount:cert-manager:cert-manager"
CLASS = "without-domain"
ROUTES: Object = {"apiGroups": ["networking.k8s.io", "gateway.networking.k8s.io"], "resources": ["ingresses", "httproutes"]}


@pytest.fixture(scope="module")
async def admin(guarded: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """An admin's client. There are classes, and Ingresses and routes of the user's. `kept` has a host of jobs already."""
    async with await Api.connect(str(guarded.kubeconfig), manager="test") as client:
        await define(client)
        for name, marks in ((STRANGER, {}), *((name, TAKEN["metadata"]["labels"] | BASELINE) for name in (HOME, LABELED))):
            await ensure(client, kinds.NAMESPACE, name, metadata={"labels": marks})
        await ensure(client, kinds.NESTED_CLASS, CLASS, **_build_listing(LISTED, f"*.{BELOW}"))
        for kind, body in ((kinds.INGRESS, ingress("old.test")), (kinds.HTTP_ROUTE, route("old.test"))):
            await ensure(client, kind, "older", STRANGER, **body)
        await ensure(client, kinds.INGRESS, "kept", STRANGER, **ingress(f"kept.{DOMAIN}"))
        await ensure(client, kinds.CLUSTER_ROLE, "routes", rules=[ROUTES | {"verbs": ["*"]}])
        subjects = [{"apiGroup": RBAC, "kind": "User", "name": name} for name in (USER, SOLVER, DEPLOYER)]
        ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "routes"}
        await ensure(client, kinds.CLUSTER_ROLE_BINDING, "routes", roleRef=ref, subjects=subjects)
        yield client
        await client.delete(kinds.NESTED_CLASS, CLASS)


def _build_listing(*hosts: str) -> Object:
    body = build_class(CLASS, allowedHosts=list(hosts))
    del body["spec"]["expose"]["domain"]
    return body


@pytest.fixture(scope="module")
async def user(guarded: apiserver.ControlPlane, admin: Api) -> AsyncIterator[Api]:
    """Once the policy knows both classes."""
    async with await Api.connect(str(guarded.kubeconfig_of(USER)), manager="user") as client:
        for host in (HOST, LISTED):
            await eventually(lambda host=host: is_refused(client, admin, host))  # type: ignore[misc]
        yield client


async def is_refused(client: Api, admin: Api, host: str, namespace: str = STRANGER) -> bool:
    """Whether an Ingress with this host is refused for it. Others' rights take a moment, too."""
    try:
        await client.create(kinds.INGRESS, body_of(kinds.INGRESS, "probe", namespace, ingress(host), {}))
    except Forbidden as error:
        return REFUSED in str(error)
    await admin.delete(kinds.INGRESS, "probe", namespace)
    return False


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
async def test_nobody_else_gets_a_host_of_a_job(user: Api, attack: Attack) -> None:
    with pytest.raises(Forbidden, match=attack.refused):
        await send(user, attack, {})


async def test_the_refusal_says_what_to_do(user: Api) -> None:
    said = f"host '{HOST}' is one of those that NestedClass 'default' has for jobs, .* list 'mallory' in `hosts.users`"
    with pytest.raises(Forbidden, match=said):
        await user.create(kinds.INGRESS, body_of(kinds.INGRESS, "x", STRANGER, ingress("fine.test", HOST), {}))


FINE: tuple[tuple[str, Kind, Object], ...] = (
    ("other", kinds.INGRESS, ingress("own.test", "www.own.test", certificate="own.test")),
    ("domain-itself", kinds.INGRESS, ingress(DOMAIN)),
    ("similar", kinds.INGRESS, ingress(f"my{DOMAIN}", f"{DOMAIN}.example.com", BELOW, f"my{LISTED}", f"www.{LISTED}")),
    ("wildcard", kinds.INGRESS, ingress("*.own.test", f"*.{LISTED}")),
    ("no-host", kinds.INGRESS, ingress(defaultBackend={"service": {"name": "web", "port": {"number": 80}}})),
    ("route", kinds.HTTP_ROUTE, route("own.test", DOMAIN)),
    ("route-without", kinds.HTTP_ROUTE, {"spec": {"parentRefs": [{"name": "public"}]}}),
)


@pytest.mark.parametrize(("kind", "body"), [item[1:] for item in FINE], ids=[item[0] for item in FINE])
async def test_other_hosts_are_nobodys_business(user: Api, kind: Kind, body: Object) -> None:
    await user.create(kind, body_of(kind, "fine", STRANGER, body, {}))
    await user.patch(kind, "fine", STRANGER, {"metadata": {"labels": {"a": "b"}}})
    assert await user.delete(kind, "fine", STRANGER)


async def test_an_ingress_that_has_such_a_host_already_is_still_written(user: Api) -> None:
    """By whoever else writes to it: its annotations, its other hosts, its finalizers."""
    await user.patch(kinds.INGRESS, "kept", STRANGER, {"metadata": {"annotations": {"a": "b"}}})
    for hosts in ([f"kept.{DOMAIN}", "more.test"], [f"kept.{DOMAIN}"]):
        await user.patch(kinds.INGRESS, "kept", STRANGER, ingress(*hosts))


async def test_the_operator_writes_hosts_of_jobs(guarded: apiserver.ControlPlane, admin: Api, user: Api) -> None:
    async with await Api.connect(str(guarded.kubeconfig_of(ACCOUNT)), manager="operator") as operator:
        for kind, body in ((kinds.INGRESS, ingress(HOST)), (kinds.HTTP_ROUTE, route(HOST))):
            await operator.create(kind, body_of(kind, "hello", HOME, body, MARKED | {labels.JOB_UID: "1"}))
            with pytest.raises(Forbidden, match=REFUSED):
                await user.create(kind, body_of(kind, "x", HOME, body, {}))
            await operator.delete(kind, "hello", HOME)


async def test_whom_the_admin_has_named_writes_hosts_of_jobs(guarded: apiserver.ControlPlane, user: Api) -> None:
    async with await Api.connect(str(guarded.kubeconfig_of(DEPLOYER)), manager="deployer") as deployer:
        for kind, body in ((kinds.INGRESS, ingress(HOST)), (kinds.HTTP_ROUTE, route(HOST))):
            await deployer.create(kind, body_of(kind, "named", STRANGER, body, {}))
            await deployer.delete(kind, "named", STRANGER)


async def test_a_solver_proves_the_hosts_of_jobs_where_they_are_and_nowhere_else(
    guarded: apiserver.ControlPlane, admin: Api, user: Api
) -> None:
    async with await Api.connect(str(guarded.kubeconfig_of(SOLVER)), manager="cert-manager") as solver:
        await solver.create(kinds.INGRESS, body_of(kinds.INGRESS, "solver", HOME, ingress(HOST), {}))
        await solver.delete(kinds.INGRESS, "solver", HOME)
        for where in (STRANGER, LABELED):
            with pytest.raises(Forbidden, match=REFUSED):
                await solver.create(kinds.INGRESS, body_of(kinds.INGRESS, "solver", where, ingress(HOST), {}))


async def test_long_lists_stay_below_what_a_policy_may_cost(admin: Api, user: Api) -> None:
    """As many hosts as a class may allow, and far more in an Ingress than anybody has."""
    listed = [f"*.a-long-name-of-a-team-{number}.example.com" for number in range(63)]
    await admin.apply(kinds.NESTED_CLASS, _build_listing(*listed, LISTED))
    late = "x" + listed[62][1:]
    await eventually(lambda: is_refused(user, admin, late))
    many = [f"a-host-with-a-long-name-{number}.of-somebody.example.com" for number in range(1000)]
    await user.create(kinds.INGRESS, body_of(kinds.INGRESS, "many", STRANGER, ingress(*many), {}))
    await user.patch(kinds.INGRESS, "many", STRANGER, ingress(*many[1:]))
    with pytest.raises(Forbidden, match=REFUSED):
        await user.patch(kinds.INGRESS, "many", STRANGER, ingress(*many, late))
    await user.delete(kinds.INGRESS, "many", STRANGER)
    await admin.apply(kinds.NESTED_CLASS, _build_listing(LISTED, f"*.{BELOW}"))
