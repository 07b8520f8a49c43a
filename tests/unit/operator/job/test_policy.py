"""What a class allows the pods of a job's cluster is told before anything else, which may fail, is tried."""

import contextlib

import pytest

from nestor.api import data
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.kube import kinds
from nestor.operator.job.children import write_policy
from nestor.operator.world.kept import SPEC_LIMIT
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import HOME, Scene


@pytest.fixture
async def scene() -> Scene:
    """A job that is made, and whose class allows everything."""
    made = Scene()
    made.add_job()
    await made.run()
    assert made.level("hello", HOME) == "Privileged"
    return made


async def reconcile(scene: Scene) -> None:
    with contextlib.suppress(Exception):
        await scene.run()


async def test_it_is_the_first_that_a_pass_writes_and_so_holds_whatever_else_fails(scene: Scene) -> None:
    scene.set_class("Baseline")
    scene.api.asked.clear()
    await reconcile(scene)
    assert scene.api.asked[0] == f"APPLY nestedclusters {HOME}/hello/status"


@pytest.mark.parametrize(
    ("spec", "level"),
    [
        ({"app": {"appDef": {"commands": {}}}}, "Privileged"),
        ({"app": "cannot be read"}, "Baseline"),
        ({"className": "another"}, "Baseline"),
    ],
)
async def test_a_refused_job_is_held_to_its_class_and_without_one_to_the_strictest(
    scene: Scene, spec: Object, level: str
) -> None:
    scene.add_job(**spec)
    await reconcile(scene)
    assert scene.level("hello", HOME) == level


async def test_a_job_too_large_for_us_is_held_to_its_class_as_earlier_versions_admitted_it(scene: Scene) -> None:
    scene.add_job(parameters={"text": "x" * SPEC_LIMIT})
    await reconcile(scene)
    assert scene.level("hello", HOME) == "Privileged"
    scene.set_class("Baseline")
    await reconcile(scene)
    assert scene.level("hello", HOME) == "Baseline"


RULES: Object = {
    "nodeSelector": {"site": "a"},
    "machines": [{"name": "n4", "nodeSelector": {"pool": "n4"}, "quota": {"requests.cpu": "4", "requests.nvidia.com/gpu": "1"}}],
}


def placement(scene: Scene) -> Object:
    found = scene.look(kinds.NESTED_CLUSTER, "hello")
    result: Object = found["status"]["policy"].get("placement", {})
    return result


async def test_a_changed_placement_reaches_the_syncer_and_the_quota_is_the_machines(scene: Scene) -> None:
    assert placement(scene) == {}
    scene.set_class("Baseline", placement=RULES)
    await reconcile(scene)
    assert placement(scene)["nodeSelector"] == {"site": "a"}
    scene.edit(machine="n4")
    await reconcile(scene)
    assert placement(scene)["nodeSelector"] == {"site": "a", "pool": "n4"}
    quota = scene.look(kinds.RESOURCE_QUOTA, "nestor")
    # With what the cluster's own pods need.
    assert quota["spec"]["hard"]["requests.nvidia.com/gpu"] == "1"
    assert quota["spec"]["hard"]["requests.cpu"] == "4502m"


@pytest.mark.parametrize("spec", [{"machine": "gone"}, {"placement": {"schedulerName": "volcano"}}])
async def test_a_job_that_is_refused_for_its_wishes_has_the_placement_of_its_class(scene: Scene, spec: Object) -> None:
    scene.set_class("Baseline", placement=RULES)
    scene.add_job(**spec)
    await reconcile(scene)
    assert placement(scene)["nodeSelector"] == {"site": "a"}


async def test_a_job_too_large_for_us_keeps_its_machine(scene: Scene) -> None:
    scene.set_class("Baseline", placement=RULES)
    scene.add_job(machine="n4", parameters={"text": "x" * SPEC_LIMIT})
    await reconcile(scene)
    assert placement(scene)["nodeSelector"] == {"site": "a", "pool": "n4"}


async def test_it_is_written_alone_and_once_and_over_what_somebody_else_wrote() -> None:
    scene, wanted = Scene(), Policy(pod_security="Privileged")
    meta = {"name": "hello", "namespace": HOME, "uid": "u"}
    scene.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}, "status": {"kubernetesVersion": "v1.36"}})
    for _ in range(2):
        await write_policy(scene.context, scene.look(kinds.NESTED_CLUSTER, "hello"), wanted)
    assert scene.api.bodies == [{"metadata": meta, "status": {"policy": data.write(wanted)}}]
    await write_policy(scene.context, scene.look(kinds.NESTED_CLUSTER, "hello"), Policy())
    assert scene.level("hello", HOME) == "Baseline"


async def test_no_node_selector_is_written_as_none_rather_than_as_an_empty_one(scene: Scene) -> None:
    """Server-side apply makes null of a map whose last key goes, and the schema refuses that."""
    for selector in ({"pool": "gold"}, {}):
        cluster = scene.look(kinds.NESTED_CLUSTER, "hello")
        await write_policy(scene.context, cluster, Policy(placement=Placement(node_selector=selector)))
    with_pool, without = (body["status"]["policy"]["placement"] for body in scene.api.bodies[-2:])
    assert with_pool["nodeSelector"] == {"pool": "gold"}
    assert "nodeSelector" not in without
    assert data.read(Placement, without) == Placement()


async def test_a_pull_secret_of_another_type_takes_the_place_of_the_earlier_copy() -> None:
    scene = Scene()
    secret = {"metadata": {"name": "registry", "namespace": "team-a"}, "data": {}}
    app = {"image": "registry.test/hello:1", "imagePullSecretName": "registry"}
    job = scene.add_job()
    scene.add_job(app=job["spec"]["app"] | app)
    for kind in ("dockerconfigjson", "dockercfg"):
        scene.api.put(kinds.SECRET, secret | {"type": f"kubernetes.io/{kind}"})
        scene.restart()  # it copies again at once
        await scene.run()
        copy = scene.look(kinds.SECRET, "hello-pull")
        assert copy["type"] == f"kubernetes.io/{kind}"
