"""With which Secret an app image is pulled, and who cannot have it."""

import json
from typing import Any

import pytest

from nestor.api import conditions
from nestor.kube import kinds
from nestor.operator.admission.app_source import KEY
from tests.unit.operator.builders import Object, build_app
from tests.unit.operator.scene import HOME, Scene

PRIVATE = "registry.test/private:1"
DOCKER = "kubernetes.io/dockerconfigjson"


@pytest.fixture
def scene() -> Scene:
    """A job of a catalog's entry, and a Secret of the entry's pull secret's name in several namespaces."""
    made = Scene()
    for namespace in ("nestor-system", "team-a", "team-b"):
        add_secret(made, "shared", namespace)
    made.context.cache.apps.put(build_app("private", image=PRIVATE, imagePullSecretName="shared"))
    made.add_job(app=None, appRef={"name": "private"})
    return made


def add_secret(scene: Scene, name: str, namespace: str) -> None:
    """A pull secret that says where it is from."""
    secret = {"metadata": {"name": name, "namespace": namespace}, "type": DOCKER, "data": {"from": f"{namespace}/{name}"}}
    scene.api.put(kinds.SECRET, secret)


async def reconcile(scene: Scene) -> None:
    """A pass of an operator that has just started."""
    scene.restart()
    await scene.run()
    scene.settle()


def copy_in(scene: Scene) -> Any:
    """Where the copy in the job's namespace is from."""
    found = scene.api.look(kinds.SECRET, "hello-pull", HOME)
    return found and found["data"]["from"]


async def test_an_entrys_secret_is_the_operators_and_never_the_tenants(scene: Scene) -> None:
    await reconcile(scene)
    assert copy_in(scene) == "nestor-system/shared"


@pytest.mark.parametrize("kind", [None, "Opaque"])
async def test_an_entrys_secret_that_is_not_there_is_named_with_its_namespace(scene: Scene, kind: str | None) -> None:
    scene.api.drop(kinds.SECRET, "shared", "nestor-system")
    if kind:
        scene.api.put(kinds.SECRET, {"metadata": {"name": "shared", "namespace": "nestor-system"}, "type": kind})
    await reconcile(scene)
    status, reason, message = scene.said(conditions.ADMITTED)
    assert (status, reason) == ("False", "PullSecretNotFound")
    assert message.startswith("NestedApp 'private': `imagePullSecretName`: ")
    assert "Secret 'shared' in namespace 'nestor-system'" in message
    assert copy_in(scene) is None


async def test_a_jobs_own_image_never_gets_a_secret_of_the_operators(scene: Scene) -> None:
    scene.api.drop(kinds.SECRET, "shared", "team-a")
    appdef = build_app("x")["spec"]["appDef"]
    scene.add_job(app={"image": PRIVATE, "imagePullSecretName": "shared", "appDef": appdef})
    await reconcile(scene)
    assert scene.said(conditions.ADMITTED)[2] == "`app.imagePullSecretName`: no Secret 'shared' in namespace 'team-a'"
    assert copy_in(scene) is None


async def test_a_job_keeps_the_secret_that_its_entry_named_when_it_started(scene: Scene) -> None:
    await reconcile(scene)
    add_secret(scene, "later", "nestor-system")
    scene.context.cache.apps.put(build_app("private", image="registry.test/later:1", imagePullSecretName="later"))
    await reconcile(scene)
    assert copy_in(scene) == "nestor-system/shared"


@pytest.mark.parametrize(
    "change",
    [
        {"image": "registry.test/another-teams:1"},
        {"imagePullSecretName": "operators-own"},
        {"imagePullSecretName": None},
        {"appDef": {}},
    ],
    ids=["another image", "another Secret", "no Secret", "another AppDef"],
)
async def test_who_rewrites_the_kept_application_gets_the_entrys(scene: Scene, change: Object) -> None:
    await reconcile(scene)
    add_secret(scene, "operators-own", "nestor-system")
    kept = scene.look(kinds.CONFIG_MAP, "hello-app")
    kept["data"][KEY] = json.dumps(json.loads(kept["data"][KEY]) | change)
    scene.api.put(kinds.CONFIG_MAP, kept)
    await reconcile(scene)
    assert copy_in(scene) == "nestor-system/shared"
    healed = scene.look(kinds.CONFIG_MAP, "hello-app")
    content = json.loads(healed["data"][KEY])
    assert (content["image"], content["imagePullSecretName"]) == (PRIVATE, "shared")
