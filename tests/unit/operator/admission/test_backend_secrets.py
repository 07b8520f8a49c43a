"""The pull secrets of a class, for its jobs and for backends, in the namespace of a job."""

from __future__ import annotations

from typing import Any

from nestor.api import names
from nestor.kube import kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from tests.unit.operator.builders import Object, build_job, build_policy, resolve
from tests.unit.operator.scene import Scene

RULES: Object = {
    "overflow": {
        "backends": [{"name": "aci", "imagePullSecrets": ["acr", "site"]}, {"name": "hpc", "imagePullSecrets": ["site", "plain"]}]
    }
}


def secret(name: str, kind: str = "kubernetes.io/dockerconfigjson") -> Object:
    return {"metadata": {"name": name, "namespace": "nestor-system"}, "type": kind, "data": {".dockerconfigjson": "e30="}}


async def copy(scene: Scene, **spec: Any) -> tuple[str | None, dict[str, str]]:
    """What is missing, and the types of the copies."""
    resolved = resolve(build_job(**spec), {"default": build_policy(placement=RULES)})
    missing = await CopiedInputs(scene.context.applier, "nestor-system").ensure_pull_secrets(resolved)
    home = resolved.home.namespace
    copies = {key[2]: item["type"] for key, item in scene.api.objects.items() if key[:2] == ("secrets", home)}
    return missing, copies


async def test_each_is_copied_once_and_what_is_missing_or_none_is_named() -> None:
    scene = Scene()
    for item in (secret("acr"), secret("plain", "Opaque")):
        scene.api.put(kinds.SECRET, item)
    missing, copies = await copy(scene)
    assert missing == "no pull secret 'plain', 'site', which class 'default' names, in namespace 'nestor-system'"
    assert copies == {names.operators_pull_secret("acr"): "kubernetes.io/dockerconfigjson"}
    scene.api.put(kinds.SECRET, secret("site"))
    scene.api.drop(kinds.SECRET, "plain", "nestor-system")
    scene.api.put(kinds.SECRET, secret("plain"))
    missing, copies = await copy(scene)
    assert missing is None
    assert copies.keys() == {names.operators_pull_secret(name) for name in ("acr", "site", "plain")}


async def test_a_job_gets_only_those_of_the_backends_that_it_may_use() -> None:
    scene = Scene()
    for name in ("acr", "site", "plain"):
        scene.api.put(kinds.SECRET, secret(name))
    missing, copies = await copy(scene, placement={"overflow": {"backends": ["aci"]}})
    assert missing is None
    assert copies.keys() == {names.operators_pull_secret(name) for name in ("acr", "site")}


async def test_those_of_all_jobs_are_copied_too() -> None:
    scene = Scene()
    scene.api.put(kinds.SECRET, secret("house"))
    resolved = resolve(build_job(), {"default": build_policy(images={"pullSecretNames": ["house", "gone"]})})
    missing = await CopiedInputs(scene.context.applier, "nestor-system").ensure_pull_secrets(resolved)
    assert missing == "no pull secret 'gone', which class 'default' names, in namespace 'nestor-system'"
    home = resolved.home.namespace
    assert [key[2] for key in scene.api.objects if key[:2] == ("secrets", home)] == [names.operators_pull_secret("house")]
