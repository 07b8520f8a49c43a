"""What the user named, an application, an image or a file, becomes the job to create."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nestor.api.objects import Object
from nestor.clients.cli import manifests
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import Wishes


def build(what: str | None, file: Path | None, wishes: Wishes, random: str) -> Object:
    """The job; `random` ends the names of those that are given none. Raises `Failure`."""
    ending = f"-{random[: manifests.SUFFIX_LENGTH]}"
    is_image = what is not None and manifests.is_image(what)
    if is_image:
        wishes = replace(wishes, image=what)
    if file is not None:
        return _build_from_file(file, wishes, ending, is_app=what is not None and not is_image)
    if wishes.config_map:
        raise Failure("--templates needs an AppDef: specify one with -f", Code.USAGE)
    assert what is not None
    return manifests.build_job(wishes, app=None if is_image else what, name=manifests.base_name(what) + ending)


def _build_from_file(file: Path, wishes: Wishes, ending: str, *, is_app: bool) -> Object:
    found = read_one(file)
    if found.get("kind") == "NestedAppJob":
        if is_app or wishes.image or wishes.config_map:
            raise Failure(f"{file} is a complete job: omit the application, image and --templates", Code.USAGE)
        if not _has_form(found):
            raise Failure(
                f"{file}: its `metadata` or `spec` is malformed", Code.USAGE, hint=f"`nestor validate {file}` tells more"
            )
        return manifests.with_wishes(found, wishes)
    if found.get("kind") or not isinstance(found.get("commands"), dict):
        raise Failure(f"{file}: neither an AppDef (no `commands`) nor a NestedAppJob", Code.USAGE)
    if is_app or (wishes.image and wishes.config_map):
        raise Failure("an AppDef is run with either an image or --templates", Code.USAGE)
    name = manifests.base_name(str(found.get("name") or "app")) + ending
    return manifests.build_job(wishes, appdef=found, name=name)


def _has_form(job: Object) -> bool:
    """Whether options can be added to it."""
    spec = job.get("spec")
    parts = [job.get("metadata"), spec, *(spec.get(key) or {} for key in ("parameters", "expose") if isinstance(spec, dict))]
    return all(isinstance(part, dict) for part in parts)


def read_one(file: Path) -> Object:
    """The one document of a file. Raises `Failure`."""
    from nestor.clients.cli.offline import documents  # noqa: PLC0415 - as in `nestor validate`

    found = [document.content for document in documents.read(documents.load(file), str(file))]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise Failure(f"{file}: must contain one AppDef or NestedAppJob, not {len(found)} documents", Code.USAGE)
    return found[0]
