"""Who may use a class, or an entry of the catalog, that is not for everybody: the API server asks, by the chart's policies."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from nestor.api import labels
from nestor.kube import Api, Forbidden, kinds
from tests.integration import apiserver
from tests.integration.operator.world import Object, build_class, build_job
from tests.waiting import eventually

RBAC = "rbac.authorization.k8s.io"
WRITE = {"apiGroups": ["nestor.dev"], "resources": ["nestedappjobs"], "verbs": ["*"]}


def use(plural: str, name: str) -> Object:
    """The right to use one class or entry."""
    return {"apiGroups": ["nestor.dev"], "resources": [plural], "resourceNames": [name], "verbs": ["use"]}


async def allow(api: Api, user: str, namespace: str, name: str, *rules: Object) -> None:
    """Give a user rights in one namespace."""
    await api.apply(kinds.ROLE, {"metadata": {"name": name, "namespace": namespace}, "rules": list(rules)})
    subject = {"apiGroup": RBAC, "kind": "User", "name": user}
    role = {"apiGroup": RBAC, "kind": "Role", "name": name}
    await api.apply(
        kinds.ROLE_BINDING, {"metadata": {"name": name, "namespace": namespace}, "roleRef": role, "subjects": [subject]}
    )


@pytest.fixture
async def space(lonely: Api) -> AsyncIterator[str]:
    """A namespace, and a class and an entry of its name that not everybody may use. Nothing is left for later operators."""
    made = await lonely.create(kinds.NAMESPACE, {"metadata": {"generateName": "access-"}})
    name = str(made["metadata"]["name"])
    body = build_class(name)
    body["spec"]["access"] = "Permitted"
    await lonely.apply(kinds.NESTED_CLASS, body)
    app = build_job("x", name)["spec"]["app"]
    await lonely.apply(kinds.NESTED_APP, {"metadata": {"name": name}, "spec": app | {"access": "Permitted"}})
    yield name
    for kind in (kinds.NESTED_APP_JOB, kinds.NESTED_CLUSTER):
        for item in await lonely.list(kind, name):
            await lonely.delete(kind, item["metadata"]["name"], name)
    for kind in (kinds.NESTED_CLASS, kinds.NESTED_APP):
        await lonely.delete(kind, name)


@pytest.fixture
async def user(lonely: Api, second_plane: apiserver.ControlPlane, space: str) -> AsyncIterator[Api]:
    """A user who may write jobs and clusters in the namespace, once the policies know its class and entry."""
    name = f"user-of-{space}"
    await allow(lonely, name, space, "writer", WRITE)
    async with await Api.connect(str(second_plane.kubeconfig_of(name)), manager="user") as client:

        async def is_refused(number: int, **spec: Any) -> bool:
            try:
                await client.create(kinds.NESTED_APP_JOB, build_job(f"probe-{number}", space, **spec))
            except Forbidden as error:
                return "is not for everybody" in error.message
            await lonely.delete(kinds.NESTED_APP_JOB, f"probe-{number}", space)
            return False

        await eventually(lambda: is_refused(1, className=space))
        await eventually(lambda: is_refused(2, app=None, appRef={"name": space}))
        yield client


@contextlib.contextmanager
def refused(kind: str, name: str) -> Iterator[None]:
    """What is written is refused because of the missing right."""
    with pytest.raises(Forbidden, match=f"only if you may `use` {kind} '{name}'"):
        yield


def entry(name: str) -> Object:
    """The spec of a job from the catalog."""
    return {"app": None, "appRef": {"name": name}}


async def test_only_who_may_use_a_class_writes_jobs_of_it(lonely: Api, user: Api, space: str) -> None:
    with refused("nestedclass", space):
        await user.create(kinds.NESTED_APP_JOB, build_job("mine", space, className=space))
    await allow(lonely, f"user-of-{space}", space, "user", use("nestedclasses", space))

    async def create() -> Object | None:
        with contextlib.suppress(Forbidden):
            return await user.create(kinds.NESTED_APP_JOB, build_job("mine", space, className=space))
        return None

    await eventually(create)


async def test_other_classes_are_for_everybody(user: Api, space: str) -> None:
    await user.create(kinds.NESTED_APP_JOB, build_job("plain", space, className="default"))
    await user.create(kinds.NESTED_APP_JOB, build_job("unnamed", space))
    await user.create(kinds.NESTED_APP_JOB, build_job("unknown", space, className="not-yet"))


async def test_only_who_may_use_an_entry_writes_jobs_that_name_it(lonely: Api, user: Api, space: str) -> None:
    with refused("nestedapp", space):
        await user.create(kinds.NESTED_APP_JOB, build_job("mine", space, **entry(space)))
    await user.create(kinds.NESTED_APP_JOB, build_job("other", space, **entry("not-there")))
    await allow(lonely, f"user-of-{space}", space, "user", use("nestedapps", space))

    async def create() -> Object | None:
        with contextlib.suppress(Forbidden):
            return await user.create(kinds.NESTED_APP_JOB, build_job("mine", space, **entry(space)))
        return None

    await eventually(create)


async def test_another_ones_job_may_be_suspended_and_deleted_but_not_be_changed(lonely: Api, user: Api, space: str) -> None:
    await lonely.create(kinds.NESTED_APP_JOB, build_job("hers", space, className=space))
    await lonely.create(kinds.NESTED_APP_JOB, build_job("listed", space, **entry(space)))
    for name, kind in (("hers", "nestedclass"), ("listed", "nestedapp")):
        for suspend in (True, False):
            await user.patch(kinds.NESTED_APP_JOB, name, space, {"spec": {"suspend": suspend}})
        await user.patch(kinds.NESTED_APP_JOB, name, space, {"metadata": {"labels": {"a": "b"}}})
        with refused(kind, space):
            await user.patch(kinds.NESTED_APP_JOB, name, space, {"spec": {"parameters": {"a": "b"}}})
        with refused(kind, space):
            await user.patch(kinds.NESTED_APP_JOB, name, space, {"spec": {"suspend": True, "activeDeadlineSeconds": 5}})
        # A rerun takes up what the entry, the ConfigMap and the Secret say now; not to want it any more is always allowed.
        with refused(kind, space):
            await user.patch(kinds.NESTED_APP_JOB, name, space, {"metadata": {"annotations": {labels.RERUN: "2"}}})
        await lonely.patch(kinds.NESTED_APP_JOB, name, space, {"metadata": {"annotations": {labels.RERUN: "2"}}})
        await user.patch(kinds.NESTED_APP_JOB, name, space, {"metadata": {"annotations": {labels.RERUN: None}}})
        await user.delete(kinds.NESTED_APP_JOB, name, space)


async def test_what_counts_is_the_class_that_a_job_was_given(lonely: Api, user: Api, space: str) -> None:
    await lonely.create(kinds.NESTED_APP_JOB, build_job("given", space))
    await lonely.patch(kinds.NESTED_APP_JOB, "given", space, {"status": {"className": space}}, subresource="status")
    with refused("nestedclass", space):
        await user.patch(kinds.NESTED_APP_JOB, "given", space, {"spec": {"parameters": {"a": "b"}}})
    await user.patch(kinds.NESTED_APP_JOB, "given", space, {"spec": {"suspend": True}})
