"""The examples are what they say: same AppDef in every file, a plan without faults, templates that exist."""

import base64
import json
import re
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from nestor.api.allowances import ClassStorage
from nestor.api.appdef import choose_command, read_appdef
from nestor.api.class_parts import NamespacePolicy
from nestor.api.model import Model
from nestor.api.nestedapp import NestedAppSpec
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.objects import Object
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.api.placement_rules import ClassPlacement
from nestor.apps import steps
from nestor.apps.runner import templates
from nestor.apps.steps.plan import Plan

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


def documents(file: Path) -> list[Object]:
    return list(yaml.safe_load_all(file.read_text()))


def app_def_of(folder: Path) -> Object:
    """Of the image if there is one, else of the job or its catalog entry."""
    if (folder / "AppDef.json").exists():
        return json.loads((folder / "AppDef.json").read_text())  # type: ignore[no-any-return]
    (job,) = [item for item in documents(folder / "job.yaml") if item["kind"] == "NestedAppJob"]
    if "appRef" in job["spec"]:
        (app,) = [item for item in documents(folder / "app.yaml") if item["kind"] == "NestedApp"]
        return app["spec"]["appDef"]  # type: ignore[no-any-return]
    return job["spec"]["app"]["appDef"]  # type: ignore[no-any-return]


def nested_of(app_def: Object) -> Object:
    nested: Object
    nested, *others = [command["nested_kubernetes"] for command in app_def["commands"].values()]
    assert all(other == nested for other in others)
    return nested


def plan_of(folder: Path) -> Plan:
    return steps.build_plan(nested_of(app_def_of(folder)), "")


def test_every_appdef_makes_a_plan_without_a_warning() -> None:
    for folder, command in [(item, command) for item in FOLDERS for command in app_def_of(item)["commands"]]:
        chosen = choose_command(read_appdef(app_def_of(folder)), command)
        assert chosen.warnings == steps.list_warnings(chosen.nested.model_dump(), chosen.where) == [], folder
        assert plan_of(folder).steps, folder


def test_every_file_is_of_our_kinds_and_every_key_of_it_known() -> None:
    models: dict[str, type[Model]] = {
        "NestedAppJob": NestedAppJobSpec,
        "NestedApp": NestedAppSpec,
        "OverflowBackend": OverflowBackendSpec,
    }
    faults = []
    for file in FILES:
        ours = [item for item in documents(file) if item["kind"] in models]
        assert len(ours) == 1, file
        faults += find_faults(file, models[ours[0]["kind"]], ours[0]["spec"])
    assert not faults, "\n".join(faults)


def test_every_key_of_a_patch_for_classes_is_known() -> None:
    models: dict[str, type] = {"placement": ClassPlacement, "storage": ClassStorage, "namespace": NamespacePolicy}
    faults = []
    for file in PATCHES:
        (patch,) = documents(file)
        assert file.stem in patch["spec"]
        assert patch.keys() == {"spec"}, file
        faults += [fault for key, value in patch["spec"].items() for fault in find_faults(file, models[key], value)]
    assert not faults, "\n".join(faults)


def find_faults(file: Path, model: type, value: Object) -> list[str]:
    """Where the value is none of that model, or has a key that the model does not know."""
    try:
        TypeAdapter(model).validate_python(value, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as error:
        return [f"{file}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    return []


def test_a_class_may_use_the_backend_of_its_example() -> None:
    for folder in (file.parent for file in PATCHES if file.stem == "placement"):
        (patch,) = documents(folder / "placement.yaml")
        named = [item["name"] for item in patch["spec"]["placement"].get("overflow", {}).get("backends", [])]
        made = [item["metadata"]["name"] for file in folder.glob("backend*.yaml") for item in documents(file)]
        assert named == made, folder


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


def test_the_images_reference_is_what_the_build_calls_it() -> None:
    for folder in WITH_IMAGE:
        (job,) = documents(folder / "job.yaml")
        assert job["spec"]["app"]["image"] == f"registry.nestor.localhost/examples/{folder.name[3:]}:1"
        assert "COPY AppDef.json /etc/NAE/AppDef.json" in (folder / "Dockerfile").read_text(), folder
        assert "COPY templates /templates" in (folder / "Dockerfile").read_text(), folder


def test_an_appdef_that_is_written_out_is_the_images() -> None:
    for file in (file for file in FILES if file.parent in WITH_IMAGE):
        for spec in (item.get("spec", {}) for item in documents(file)):
            written = spec.get("appDef") or spec.get("app", {}).get("appDef")
            if written and spec.get("app", spec).get("image"):
                assert written == app_def_of(file.parent), file


def test_every_step_finds_its_template() -> None:
    found = [(folder, step) for folder in WITH_IMAGE for step in plan_of(folder).steps]
    for folder, step in found:
        for path in [step.path, *(step.helm.values_files if step.helm else ())]:
            if path and step.type == "kubectl":
                assert templates.resolve(folder / "templates", path)
            elif path:
                assert (folder / "templates" / path).exists(), path


def test_a_script_in_base64_is_the_file_beside_it() -> None:
    for folder, step, file in [(folder, *script) for folder, scripts in SCRIPTS.items() for script in scripts.items()]:
        (found,) = [item for item in nested_of(app_def_of(EXAMPLES / folder))["templates"] if item["name"] == step]
        assert base64.b64decode(found["cmd"], validate=True).decode() == (EXAMPLES / folder / file).read_text(), folder


def test_templates_use_the_images_that_the_embedded_cluster_has() -> None:
    files = [path for pattern in ("*/*.yaml", "*/**/templates/**/*") for path in EXAMPLES.glob(pattern) if path.is_file()]
    named = {(file, image) for file in files for image in re.findall(r"image: (docker\.io/\S+)", file.read_text())}
    faults = [f"{file}: {image}" for file, image in sorted(named) if image not in IMAGES]
    assert not faults, "\n".join(faults)
    assert len(named) > 10


def test_the_target_is_among_the_templates() -> None:
    for folder in (EXAMPLES / "01-hello-world", EXAMPLES / "02-web-and-database"):
        objects = [item for file in sorted((folder / "templates").glob("*.yml")) for item in documents(file)]
        (target,) = nested_of(app_def_of(folder))["targets"]
        services = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Service"}
        service = services[target["service_name"]]
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


def test_the_catalog_entry_is_the_one_that_the_job_asks_for() -> None:
    folder = EXAMPLES / "01-hello-world"
    (app,), (job,) = documents(folder / "app.yaml"), documents(folder / "job-from-catalog.yaml")
    assert job["spec"]["appRef"]["name"] == app["metadata"]["name"]


def test_a_readme_says_what_it_shows() -> None:
    lengths = {folder.name: len((folder / "README.md").read_text().splitlines()) for folder in FOLDERS}
    assert {name: length for name, length in lengths.items() if not 2 <= length <= 12} == {}


def test_commands_on_this_machine_are_written_as_the_command_line_takes_them() -> None:
    """`nestor exec JOB -- COMMAND`: the command runs here, so a pod's name is part of it."""
    pages = [EXAMPLES.parent / "README.md", *EXAMPLES.parent.glob("docs/*.md"), *EXAMPLES.glob("*/README.md")]
    found = [match for page in pages for match in re.findall(r"nestor exec ([\w-]+) (\S+)", page.read_text())]
    assert len(found) > 4
    assert [item for item in found if item[1] != "--"] == []
