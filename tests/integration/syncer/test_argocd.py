"""What Argo CD may do in a nested cluster: what the class says now, and nothing that it said before."""

from collections.abc import AsyncIterator

import pytest

from nestor.api.contracts.cluster import ARGOCD_USER
from nestor.kube import kinds
from nestor.kube.serving import pages
from nestor.syncer.cluster import argocd
from tests.integration.syncer.world import World
from tests.waiting import until

ASKED = (
    ("default", "apps", "deployments", "create"),
    ("default", "rbac.authorization.k8s.io", "roles", "create"),
    ("kube-system", "", "secrets", "list"),
    ("", "", "nodes", "list"),
    ("", "apiextensions.k8s.io", "customresourcedefinitions", "create"),
)
NONE, ONE, ALL = (False,) * 5, (True, True, False, False, False), (True,) * 5


@pytest.fixture
async def clean(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A world whose syncer looks often; without rights of Argo CD afterwards."""
    monkeypatch.setattr(argocd, "CHECK_SECONDS", 2 * pages.SOON_SECONDS)
    yield world
    await world.allow(argoCD=None)
    await world.eventually(lambda: may(world, NONE))


async def may(world: World, expected: tuple[bool, ...]) -> bool:
    """Whether these are Argo CD's rights."""
    return tuple([await ask(world, *asked) for asked in ASKED]) == expected


async def ask(world: World, namespace: str, group: str, resource: str, verb: str) -> bool:
    """Whether Argo CD may do that, by the nested API server."""
    what = {"namespace": namespace, "group": group, "resource": resource, "verb": verb}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": ARGOCD_USER, "resourceAttributes": what},
    }
    answer = await world.nested.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", None, review)
    return bool(answer["status"]["allowed"])


async def test_argo_cd_has_the_rights_that_the_class_gives_it_now(clean: World) -> None:
    world = clean
    assert await may(world, NONE)
    await world.allow(argoCD={"namespaces": ["default", "later"]})
    await world.eventually(lambda: may(world, ONE))
    assert not await ask(world, "later", "apps", "deployments", "create")
    await world.nested.create(kinds.NAMESPACE, {"metadata": {"name": "later"}})
    await world.eventually(lambda: ask(world, "later", "apps", "deployments", "create"))
    await world.allow(argoCD={"namespaces": ["*"]})
    await world.eventually(lambda: may(world, ALL))
    await world.heard()
    assert await world.nested.find(kinds.ROLE_BINDING, ARGOCD_USER, "later") is None
    await world.allow(argoCD={"namespaces": ["later"]})
    await world.eventually(lambda: may(world, NONE))
    await world.allow(argoCD=None)
    await until(lambda: ask(world, "later", "apps", "deployments", "create"), lambda found: not found)


async def test_what_the_class_took_back_while_no_syncer_ran_is_taken_back(clean: World) -> None:
    world = clean
    await world.allow(argoCD={"namespaces": ["default"]})
    await world.eventually(lambda: may(world, ONE))
    await world.stop()
    await world.allow(argoCD=None)
    await world.start()
    await world.eventually(lambda: may(world, NONE))


async def test_rights_that_the_tenant_deletes_come_back(clean: World) -> None:
    world = clean
    await world.allow(argoCD={"namespaces": ["default"]})
    await world.eventually(lambda: may(world, ONE))
    before = await world.nested.get(kinds.ROLE_BINDING, ARGOCD_USER, "default")
    await world.nested.delete(kinds.ROLE_BINDING, ARGOCD_USER, "default")
    await until(
        lambda: world.nested.find(kinds.ROLE_BINDING, ARGOCD_USER, "default"),
        lambda found: found is not None and found["metadata"]["uid"] != before["metadata"]["uid"],
    )
