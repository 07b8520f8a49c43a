"""The examples are what they say: same AppDef in every file, a plan without faults, templates that exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor import steps
from nestor.runner import templates

EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
IMAGES = {"docker.io/library/busybox:1.35", "docker.io/library/redis:7.0"}


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def nested_of(app_def: dict[str, Any]) -> dict[str, Any]:
    [command] = app_def["commands"].values()
    nested: dict[str, Any] = command["nested_kubernetes"]
    return nested


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_jobs_appdef_is_the_images(folder: Path) -> None:
    [job] = documents(folder / "job.yaml")
    assert job["spec"]["app"]["appDef"] == json.loads((folder / "AppDef.json").read_text())
    assert job["spec"]["app"]["image"] == f"registry.nestor.localhost/examples/{folder.name[3:]}:1"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_step_finds_its_template(folder: Path) -> None:
    plan = steps.build_plan(nested_of(json.loads((folder / "AppDef.json").read_text())), "")
    assert [templates.resolve(folder / "templates", step.path) for step in plan.steps if step.path]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_templates_use_known_images_and_the_target_is_among_them(folder: Path) -> None:
    objects = [item for file in sorted((folder / "templates").glob("*.yml")) for item in documents(file)]
    containers = [
        container for item in objects if item["kind"] in ("Deployment", "Job")
        for container in item["spec"]["template"]["spec"]["containers"]
    ]
    assert {container["image"] for container in containers} <= IMAGES
    [target] = nested_of(json.loads((folder / "AppDef.json").read_text()))["targets"]
    [service] = [item for item in objects if item["kind"] == "Service" and item["metadata"]["name"] == target["service_name"]]
    assert service["metadata"]["namespace"] == target["service_namespace"]
    assert target["service_port"] in [port["port"] for port in service["spec"]["ports"]]


def test_hello_world_from_a_config_map_is_the_same_app() -> None:
    folder = EXAMPLES / "01-hello-world"
    config_map, job = documents(folder / "job-from-configmap.yaml")
    assert config_map["data"] == {"web.yml": (folder / "templates" / "web.yml").read_text()}
    assert job["spec"]["app"]["templatesFrom"]["configMapRef"]["name"] == config_map["metadata"]["name"]
    assert nested_of(job["spec"]["app"]["appDef"]) == nested_of(json.loads((folder / "AppDef.json").read_text()))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_readme_has_three_lines(folder: Path) -> None:
    assert len((folder / "README.md").read_text().splitlines()) == 3
