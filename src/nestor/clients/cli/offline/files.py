"""Which files `nestor validate` reads, and which of them hold no whole resource: templates before they are rendered, and patches.

Where somebody names a folder, such files lie beside resources and are left out, with the reason. A file that is named by itself
is to be checked, and cannot be.
"""

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nestor.api import labels
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.offline import documents
from nestor.clients.cli.offline.documents import Document

SUFFIXES = (".yaml", ".yml", ".json")
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
PLACEHOLDER = "{{"


@dataclass(frozen=True)
class Content:
    name: str
    documents: tuple[Document, ...] = ()
    fault: Failure | None = None
    """Why it cannot be checked, with its name."""
    skipped: str = ""
    """Why it holds no resource by itself. Only of a file that was found in a folder."""
    is_found: bool = False
    """In a folder that was named, not by its own name."""


def expand(files: Iterable[Path]) -> list[Path]:
    """Folders become their files. Raises `Failure` for what is not there."""
    found: list[Path] = []
    for file in files:
        if file.is_dir():
            inside = sorted(path for path in file.rglob("*") if path.suffix in SUFFIXES and path.is_file())
            if stray := next((path for path in inside if not path.resolve().is_relative_to(file.resolve())), None):
                raise Failure(f"{stray} is a link that leads out of {file}", Code.USAGE)
            found += inside
        elif str(file) == "-" or file.exists():
            found.append(file)
        else:
            raise Failure(f"{file}: no such file", Code.USAGE)
    return found


def read(file: Path, *, is_found: bool = False) -> Content:
    """A file; without documents if it was found in a folder and has nothing of ours."""
    name = str(file)
    try:
        text = documents.load(file)
        if is_found and not is_ours(text):
            return Content(name, is_found=True)
        if reason := find_reason(file, text):
            return Content(name, skipped=reason, is_found=True) if is_found else Content(name, fault=Failure(f"{name}: {reason}"))
        return Content(name, tuple(_read(text, name)), is_found=is_found)
    except Failure as failure:
        return Content(name, fault=failure, is_found=is_found)


def _read(text: str, name: str) -> Iterator[Document]:
    try:
        yield from documents.read(text, name)
    except Failure as failure:
        if PLACEHOLDER not in text:
            raise
        hint = "its placeholders `{{ … }}` are filled in before it is YAML"
        raise Failure(f"{failure.message} (if this is a template, {hint})", failure.code) from failure


def is_ours(text: str) -> bool:
    """Whether a file that was found in a folder is worth reading: charts and other people's manifests are not."""
    return f"{labels.GROUP}/" in text or "appdefversion" in text


def find_reason(file: Path, text: str) -> str:
    """Why a file holds no whole resource, and how what it becomes is checked; empty if it may hold some."""
    if str(file) == "-":
        return ""
    path = Path(os.path.abspath(file))  # without `..`, to be compared with the names in kustomizations
    for folder in path.parents if PLACEHOLDER in text else ():
        owner = folder.parent
        if folder.name == "templates" and (owner / "Chart.yaml").is_file():
            return f"a template of a Helm chart; to check what it becomes: helm template {_show(owner)} | nestor validate -"
        if folder.name == "templates" and (owner / "AppDef.json").is_file():
            return f"a template of the application in {_show(owner / 'AppDef.json')}; its placeholders are filled in by a job"
    for folder in path.parents:
        if path in list_patches(folder):
            return f"a patch; to check what comes of it: kubectl kustomize {_show(folder)} | nestor validate -"
    return ""


def list_patches(folder: Path) -> set[Path]:
    return list_named(folder, ("patches", "patchesStrategicMerge", "patchesJson6902"))


def list_named(folder: Path, fields: Iterable[str]) -> set[Path]:
    """What these fields of the folder's kustomization name, if it has one that can be read."""
    file = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
    if file is None:
        return set()
    try:
        found = list(documents.read(documents.load(file), str(file)))
    except Failure:
        return set()
    names = (name for document in found for field in fields for name in _name_files(document.content, field))
    return {Path(os.path.normpath(folder / name)) for name in names}


def _name_files(content: Any, field: str) -> Iterator[str]:
    items = content.get(field) if isinstance(content, dict) else None
    for item in items if isinstance(items, list) else ():
        name = item.get("path") if isinstance(item, dict) else item
        if isinstance(name, str):
            yield name


def _show(path: Path) -> str:
    return shlex.quote(os.path.relpath(path))
