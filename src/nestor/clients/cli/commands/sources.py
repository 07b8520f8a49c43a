"""What `nestor run` is to run, from the name or the file that it is given."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from nestor.api.objects import Object
from nestor.clients.cli import manifests, packages
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.offline import documents
from nestor.clients.cli.packages import Package


def build_job(what: str | None, file: Path | None, wishes: Wishes, random: str) -> tuple[Object, Object | None]:
    """The job, and the data of a ConfigMap that it needs; `random` ends the names of jobs without one. Raises `Failure`."""
    is_image = what is not None and manifests.is_image(what)
    if is_image:
        wishes = replace(wishes, image=what)
    if file is not None:
        return _build_from_file(file, wishes, random, is_app=what is not None and not is_image)
    if wishes.config_map:
        raise Failure("--templates needs an AppDef: specify one with -f", Code.USAGE)
    assert what is not None
    name = manifests.end_name(manifests.base_name(what), random)
    return manifests.build_job(wishes, app=None if is_image else what, name=name), None


def build_packaged(package: Package, wishes: Wishes, random: str) -> tuple[Object, Object | None]:
    """The same of a chart, a manifest or a kustomization. Raises `Failure`."""
    job = manifests.build_job(wishes, appdef=packages.build_appdef(package), name=manifests.end_name(package.name, random))
    return job, None if package.is_remote else packages.read_data(package)


def _build_from_file(file: Path, wishes: Wishes, random: str, *, is_app: bool) -> tuple[Object, Object | None]:
    contents = [document.content for document in documents.read(documents.load(file), str(file))]
    jobs = [item for item in contents if isinstance(item, dict) and item.get("kind") == "NestedAppJob"]
    found = documents.pick_one(file, jobs or contents)
    if found.get("kind") == "NestedAppJob":
        if is_app or wishes.image or wishes.config_map:
            raise Failure(f"{file} is a complete job: omit the application, image and --templates", Code.USAGE)
        if not _has_form(found):
            raise Failure(
                f"{file}: its `metadata` or `spec` is malformed", Code.USAGE, hint=f"`nestor validate {file}` tells more"
            )
        data = _pick_data(file, found, [item for item in contents if item is not found])
        if data and (wishes.name or not found["metadata"].get("name")):
            del data["metadata"]  # that name is of the file's own job
        return manifests.with_wishes(found, wishes), data
    if found.get("kind") or not isinstance(found.get("commands"), dict):
        raise Failure(f"{file}: neither an AppDef (no `commands`) nor a NestedAppJob", Code.USAGE)
    if is_app or (wishes.image and wishes.config_map):
        raise Failure("an AppDef is run with either an image or --templates", Code.USAGE)
    name = manifests.end_name(manifests.base_name(str(found.get("name") or "app")), random)
    return manifests.build_job(wishes, appdef=found, name=name), None


def _pick_data(file: Path, job: Object, others: list[Any]) -> Object | None:
    """Of the ConfigMap with the job's templates, if that is beside it. Raises `Failure` if anything else is."""
    try:
        names = [(item["kind"], item["metadata"]["name"]) for item in others]
    except (KeyError, TypeError):
        names = [("", "")]
    if names not in ([], [("ConfigMap", manifests.name_templates(job))]):
        message = f"{file}: beside the job, it may have the ConfigMap of its `templatesFrom`, and nothing else"
        raise Failure(message, Code.USAGE, hint=f"kubectl apply -f {file}")
    return {key: others[0][key] for key in ("metadata", "data", "binaryData") if key in others[0]} if others else None


def _has_form(job: Object) -> bool:
    """Whether options can be added to it."""
    spec = job.get("spec")
    parts = [job.get("metadata"), spec, *(spec.get(key) or {} for key in ("parameters", "expose") if isinstance(spec, dict))]
    return all(isinstance(part, dict) for part in parts)
