"""The examples are what they say: same AppDef in every file, a plan without faults, templates that exist."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from nestor import steps
from nestor.api.appdef import choose_command, read_appdef
from nestor.api.class_namespace import NamespacePolicy
from nestor.api.model import Model
from nestor.api.nestedapp import NestedAppSpec
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.api.placement_rules import ClassPlacement
from nestor.api.storage import ClassStorage
from nestor.runner import templates
from nestor.steps.plan import Plan

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
WITH_IMAGE = [folder for folder in FOLDERS if (folder / "Dockerfile").exists()]
PATCHES = sorted([*EXAMPLES.glob("*/placement.yaml"), *EXAMPLES.glob("*/storage.yaml")])
"""What admins add to a class."""
FILES = sorted(set(EXAMPLES.glob("*/*.yaml")) - set(PATCHES))
PREVIEWS = EXAMPLES / "18-preview-per-pull-request" / "argocd"
IMAGES = {"docker.io/library/busybox:1.35", "docker.io/library/redis:7.0", "docker.io/library/python:3.11-slim-bookworm"}
SCRIPTS = {
    "04-helm-script": {"helmdeploy": "deploy.sh"},
    "07-four-types": {"seed": "seed.sh"},
    "15-webhook-app": {"register": "register.sh"},
    "08-array-job": {"parts": "collect.sh", "results": "collect.sh"},
}

Object = dict[str, Any]


def documents(file: Path) -> list[Object]:
    return list(yaml.safe_load_all(file.read_text()))


def app_def_of(folder: Path) -> Object:
    """Of the image if there is one, else of the job or its catalogue entry."""
    if (folder / "AppDef.json").exists():
        return json.loads((folder / "AppDef.json").read_text())  # type: ignore[no-any-return]
    (job,) = [item for item in documents(folder / "job.yaml") if item["kind"] == "NestedAppJob"]
    if "appRef" in job["spec"]:
        (app,) = [item for item in documents(folder / "app.yaml") if item["kind"] == "NestedApp"]
        return app["spec"]["appDef"]  # type: ignore[no-any-return]
    return job["spec"]["app"]["appDef"]  # type: ignore[no-any-return]


def nested_of(app_def: Object) -> Object:
    (command,) = app_def["commands"].values()
    nested: Object = command["nested_kubernetes"]
    return nested


def plan_of(folder: Path) -> Plan:
    return steps.build_plan(nested_of(app_def_of(folder)), "")


def ids(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_every_appdef_makes_a_plan_without_a_warning(folder: Path) -> None:
    chosen = choose_command(read_appdef(app_def_of(folder)), None)
    assert chosen.warnings == steps.list_warnings(chosen.nested.model_dump(), chosen.where) == []
    assert plan_of(folder).steps


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_every_file_is_of_our_kinds_and_every_key_of_it_known(file: Path) -> None:
    models: dict[str, type[Model]] = {
        "NestedAppJob": NestedAppJobSpec,
        "NestedApp": NestedAppSpec,
        "OverflowBackend": OverflowBackendSpec,
    }
    ours = [item for item in documents(file) if item["kind"] in models]
    assert len(ours) == 1
    assert_known(models[ours[0]["kind"]], ours[0]["spec"])


def assert_known(model: type, value: Object) -> None:
    """Every key of the value is one of the model's."""
    assert TypeAdapter(model).validate_python(value, extra="forbid", by_alias=True, by_name=False)


@pytest.mark.parametrize("file", PATCHES, ids=ids)
def test_every_key_of_a_patch_for_classes_is_known(file: Path) -> None:
    (patch,) = documents(file)
    assert patch.keys() == {"spec"}
    models: dict[str, type] = {"placement": ClassPlacement, "storage": ClassStorage, "namespace": NamespacePolicy}
    assert file.stem in patch["spec"]
    for key, value in patch["spec"].items():
        assert_known(models[key], value)


@pytest.mark.parametrize("folder", [file.parent for file in PATCHES if file.stem == "placement"], ids=ids)
def test_a_class_may_use_the_backend_of_its_example(folder: Path) -> None:
    (patch,) = documents(folder / "placement.yaml")
    named = [item["name"] for item in patch["spec"]["placement"].get("overflow", {}).get("backends", [])]
    made = [item["metadata"]["name"] for file in folder.glob("backend*.yaml") for item in documents(file)]
    assert named == made


def test_the_job_that_overflows_is_the_same_wherever_it_goes() -> None:
    first, second = (EXAMPLES / folder / "job.yaml" for folder in ("09-cpu-overflow", "13-second-cluster"))
    assert first.read_text() == second.read_text()


def test_each_application_with_an_image_has_a_dockerfile() -> None:
    named = [
        folder
        for folder in FOLDERS
        for item in documents(folder / "job.yaml")
        if item.get("spec", {}).get("app", {}).get("image")
    ]
    assert named == WITH_IMAGE


@pytest.mark.parametrize("folder", WITH_IMAGE, ids=ids)
def test_the_images_reference_is_what_the_build_calls_it(folder: Path) -> None:
    (job,) = documents(folder / "job.yaml")
    assert job["spec"]["app"]["image"] == f"registry.nestor.localhost/examples/{folder.name[3:]}:1"
    assert "COPY AppDef.json /etc/NAE/AppDef.json" in (folder / "Dockerfile").read_text()
    assert "COPY templates /templates" in (folder / "Dockerfile").read_text()


@pytest.mark.parametrize("file", [file for file in FILES if file.parent in WITH_IMAGE], ids=ids)
def test_an_appdef_that_is_written_out_is_the_images(file: Path) -> None:
    for item in documents(file):
        spec = item.get("spec", {})
        written = spec.get("appDef") or spec.get("app", {}).get("appDef")
        if written and spec.get("app", spec).get("image"):
            assert written == app_def_of(file.parent)


@pytest.mark.parametrize("folder", WITH_IMAGE, ids=ids)
def test_every_step_finds_its_template(folder: Path) -> None:
    for step in plan_of(folder).steps:
        for path in [step.path, *(step.helm.values_files if step.helm else ())]:
            if path and step.type == "kubectl":
                assert templates.resolve(folder / "templates", path)
            elif path:
                assert (folder / "templates" / path).exists(), path


@pytest.mark.parametrize(
    ("folder", "step", "file"), [(folder, step, file) for folder, scripts in SCRIPTS.items() for step, file in scripts.items()]
)
def test_a_script_in_base64_is_the_file_beside_it(folder: str, step: str, file: str) -> None:
    (found,) = [item for item in nested_of(app_def_of(EXAMPLES / folder))["templates"] if item["name"] == step]
    assert base64.b64decode(found["cmd"], validate=True).decode() == (EXAMPLES / folder / file).read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_templates_use_the_images_that_the_embedded_cluster_has(folder: Path) -> None:
    files = [path for path in [*folder.glob("*.yaml"), *folder.rglob("templates/**/*")] if path.is_file()]
    found = {
        line.split("image:")[1].split("#")[0].strip()
        for path in files
        for line in path.read_text().splitlines()
        if "image: docker.io/" in line
    }
    assert found <= IMAGES


@pytest.mark.parametrize("folder", [EXAMPLES / "01-hello-world", EXAMPLES / "02-web-and-database"], ids=ids)
def test_the_target_is_among_the_templates(folder: Path) -> None:
    objects = [item for file in sorted((folder / "templates").glob("*.yml")) for item in documents(file)]
    (target,) = nested_of(app_def_of(folder))["targets"]
    (service,) = [item for item in objects if item["kind"] == "Service" and item["metadata"]["name"] == target["service_name"]]
    assert service["metadata"]["namespace"] == target["service_namespace"]
    assert target["service_port"] in [port["port"] for port in service["spec"]["ports"]]


def test_hello_world_from_a_config_map_is_the_same_app() -> None:
    folder = EXAMPLES / "01-hello-world"
    config_map, job = documents(folder / "job-from-configmap.yaml")
    assert config_map["data"] == {"web.yml": (folder / "templates" / "web.yml").read_text()}
    assert job["spec"]["app"]["templatesFrom"]["configMapRef"]["name"] == config_map["metadata"]["name"]
    assert nested_of(job["spec"]["app"]["appDef"]) == nested_of(app_def_of(folder))


def test_previews_are_of_a_project_that_allows_jobs_in_one_namespace_and_nothing_else() -> None:
    """Who opens a pull request must not decide which manifests Argo CD applies: it may do everything everywhere."""
    (made,), (project,) = documents(PREVIEWS / "applicationset.yaml"), documents(PREVIEWS / "project.yaml")
    spec, bounds = made["spec"]["template"]["spec"], project["spec"]
    assert (project["kind"], spec["project"]) == ("AppProject", project["metadata"]["name"])
    assert project["metadata"]["namespace"] == made["metadata"]["namespace"]
    assert project["metadata"]["name"] != "default"
    assert bounds["sourceRepos"] == [spec["source"]["repoURL"]]
    assert bounds["destinations"] == [spec["destination"]]
    assert "*" not in spec["destination"].values()
    assert bounds["clusterResourceWhitelist"] == []
    assert bounds["namespaceResourceWhitelist"] == [{"group": "nestor.dev", "kind": "NestedAppJob"}]
    # A list that is left out allows everything; to make namespaces, which is no resource of the chart's, it is not asked.
    assert "syncOptions" not in spec["syncPolicy"]


def test_the_chart_of_previews_is_the_main_branchs() -> None:
    """So a pull request decides what its image has, and neither the class of its job nor anything else of it."""
    (made,) = documents(PREVIEWS / "applicationset.yaml")
    spec = made["spec"]["template"]["spec"]
    assert "sources" not in spec
    assert spec["source"]["targetRevision"] == "main"
    given = {item["name"]: (item["value"], item["forceString"]) for item in spec["source"]["helm"]["parameters"]}
    assert given == {"number": ("{{.number}}", True), "commit": ("{{.head_short_sha_7}}", True)}


def test_the_catalogue_entry_is_the_one_that_the_job_asks_for() -> None:
    folder = EXAMPLES / "01-hello-world"
    (app,), (job,) = documents(folder / "app.yaml"), documents(folder / "job-from-catalogue.yaml")
    assert job["spec"]["appRef"]["name"] == app["metadata"]["name"]


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_readme_says_what_it_shows(folder: Path) -> None:
    assert 2 <= len((folder / "README.md").read_text().splitlines()) <= 12


def test_commands_on_this_machine_are_written_as_the_command_line_takes_them() -> None:
    """`nestor exec JOB -- COMMAND`: the command runs here, so a pod's name is part of it."""
    pages = [EXAMPLES.parent / "README.md", *EXAMPLES.parent.glob("docs/*.md"), *EXAMPLES.glob("*/README.md")]
    found = [match for page in pages for match in re.findall(r"nestor exec ([\w-]+) (\S+)", page.read_text())]
    assert len(found) > 4
    assert [item for item in found if item[1] != "--"] == []
