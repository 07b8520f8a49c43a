"""Templates and backends' Secrets that are copied into a job's namespace."""

import gc
from typing import Any

import pytest

from nestor.api import conditions, names
from nestor.kube import kinds
from nestor.operator.admission.copied_inputs import KEYS, CopiedInputs
from nestor.operator.admission.secret_parameters import LONGEST_RETRY_SECONDS
from tests.unit.operator.builders import TARGET, Object, build_job, build_policy, build_resolved, resolve
from tests.unit.operator.scene import HOME, Scene

COPY = "hello-templates"
MARK = "only-in-this-test.yml"


def build_app(step: Object) -> Object:
    """An application whose templates are in a ConfigMap of the job's namespace."""
    nested = {"targets": [TARGET], "templates": [step]}
    return {
        "templatesFrom": {"configMapRef": {"name": "files"}},
        "appDef": {"commands": {"Hello": {"nested_kubernetes": nested}}},
    }


STEP: Object = {"name": "web", "type": "kubectl", "path": "web.yml"}
APP = build_app(STEP)


def put_files(scene: Scene, text: str = "kind: ConfigMap", *, keys: int = 1) -> None:
    data = {MARK: text} | {f"k{number}": "" for number in range(keys - 1)}
    scene.api.put(kinds.CONFIG_MAP, {"metadata": {"name": "files", "namespace": "team-a"}, "data": data})


def count_contents() -> int:
    """How many objects there are in memory that have the templates."""
    gc.collect()
    found = [item for item in gc.get_objects() if isinstance(item, dict) and isinstance(item.get("data"), dict)]
    return sum(MARK in item["data"] for item in found)


def read_copy(scene: Scene) -> str | None:
    found = scene.api.look(kinds.CONFIG_MAP, COPY, HOME)
    return found["data"][MARK] if found else None


def read_admitted(scene: Scene) -> tuple[str, str]:
    return scene.said(conditions.ADMITTED)[1:]


RESOLVED = build_resolved(build_job(app=APP))


async def copy_all(copies: CopiedInputs) -> str:
    """What a pass does with them; returns what they are identified by."""
    source, content = await copies.read_templates(RESOLVED)
    await copies.ensure_templates(RESOLVED, content)
    return source


async def start() -> tuple[Scene, CopiedInputs]:
    """A job whose templates have been copied, by an operator that has done nothing else."""
    scene = Scene()
    put_files(scene)
    inputs = CopiedInputs(scene.context.applier, "nestor-system")
    await copy_all(inputs)
    return scene, inputs


@pytest.mark.parametrize(
    ("step", "reason"), [({"retry": 1.5}, conditions.APPDEF_INVALID), ({}, conditions.ADMITTED_REASON)], ids=["refused", "runs"]
)
async def test_of_templates_nothing_is_kept_after_a_pass(step: Object, reason: str) -> None:
    """A tenant's jobs may be many, and a ConfigMap of 1 MB is 7 MB as Python objects."""
    scene = Scene()
    put_files(scene)
    scene.add_job(app=build_app(STEP | step))
    before = count_contents()
    await scene.run()
    assert read_admitted(scene)[0] == reason
    is_copied = read_copy(scene) is not None
    assert is_copied is (reason == conditions.ADMITTED_REASON)
    # The API server is in this process, too: it has the copy, and the requests that were made.
    scene.api.bodies.clear()
    assert count_contents() == before + is_copied


async def test_a_job_that_was_refused_starts_with_the_templates_of_then() -> None:
    scene = Scene()
    put_files(scene, "old")
    scene.add_job(app=build_app(STEP | {"retry": 1.5}))
    await scene.run()
    put_files(scene, "new")
    scene.edit(app=APP)
    await scene.run()
    assert read_copy(scene) == "new"


async def test_a_job_keeps_the_templates_it_started_with_and_reads_them_once() -> None:
    scene, inputs = await start()
    put_files(scene, "other")
    scene.api.asked.clear()
    source = await copy_all(inputs)
    assert scene.api.asked == []
    assert (await CopiedInputs(scene.context.applier, "nestor-system").read_templates(RESOLVED))[0] == source
    assert read_copy(scene) == "kind: ConfigMap"


@pytest.mark.parametrize("text", ["kind: ConfigMap", "new"])
async def test_a_copy_that_was_lost_with_its_namespace_is_made_again_from_the_original(text: str) -> None:
    scene, inputs = await start()
    scene.api.drop(kinds.CONFIG_MAP, COPY, HOME)
    put_files(scene, text)
    scene.context.applier.forget(HOME)
    inputs.forget_copies(RESOLVED.uid)
    await copy_all(inputs)
    assert read_copy(scene) == text


async def test_a_config_map_has_only_so_many_templates() -> None:
    scene = Scene()
    put_files(scene, keys=KEYS + 1)
    scene.add_job(app=APP)
    result = await scene.run()
    assert result.retry_after == LONGEST_RETRY_SECONDS, "what is large is not read often"
    assert read_admitted(scene) == (
        conditions.TEMPLATES_NOT_FOUND,
        f"ConfigMap 'files' in namespace 'team-a' has {KEYS + 1} keys; templates may have at most {KEYS}: put more into an "
        "app image",
    )
    put_files(scene, keys=KEYS)
    await scene.run()
    assert read_admitted(scene)[0] == conditions.ADMITTED_REASON


RULES: Object = {
    "overflow": {
        "backends": [{"name": "aci", "imagePullSecrets": ["acr", "site"]}, {"name": "hpc", "imagePullSecrets": ["site", "plain"]}]
    }
}


def secret(name: str, kind: str = "kubernetes.io/dockerconfigjson") -> Object:
    return {"metadata": {"name": name, "namespace": "nestor-system"}, "type": kind, "data": {".dockerconfigjson": "e30="}}


async def copy(scene: Scene, **spec: Any) -> tuple[str | None, dict[str, str]]:
    """What is missing, and the types of the copies."""
    resolved = resolve(build_job(**spec), {"default": build_policy(placement=RULES, images={"pullSecretNames": ["house"]})})
    missing = await CopiedInputs(scene.context.applier, "nestor-system").ensure_pull_secrets(resolved)
    home = resolved.home.namespace
    copies = {key[2]: item["type"] for key, item in scene.api.objects.items() if key[:2] == ("secrets", home)}
    return missing, copies


async def test_each_is_copied_once_and_what_is_missing_or_none_is_named() -> None:
    scene = Scene()
    for item in (secret("acr"), secret("plain", "Opaque")):
        scene.api.put(kinds.SECRET, item)
    missing, copies = await copy(scene)
    assert missing == "no pull secret 'house', 'plain', 'site', which class 'default' names, in namespace 'nestor-system'"
    assert copies == {names.operators_pull_secret("acr"): "kubernetes.io/dockerconfigjson"}


@pytest.mark.parametrize(
    ("wish", "expected"),
    [({}, {"house", "acr", "site", "plain"}), ({"placement": {"overflow": {"backends": ["aci"]}}}, {"house", "acr", "site"})],
    ids=["of all", "of those that it may use"],
)
async def test_a_job_gets_those_of_all_jobs_and_of_its_backends(wish: Object, expected: set[str]) -> None:
    scene = Scene()
    for name in ("house", "acr", "site", "plain"):
        scene.api.put(kinds.SECRET, secret(name))
    missing, copies = await copy(scene, **wish)
    assert missing is None
    assert copies.keys() == {names.operators_pull_secret(name) for name in expected}
