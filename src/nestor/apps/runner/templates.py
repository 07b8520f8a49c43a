"""A step's `path` → the file or folder below the templates folder; never anything outside of it, links included."""

import os
import posixpath
from pathlib import Path
from typing import Literal

from nestor.apps.runner.attempt import StepError
from nestor.apps.steps import sources

SUFFIXES = (".yml", ".yaml", ".json")
"""What `kubectl apply -f FOLDER` reads."""
SHOWN_FILES = 20
ENTRIES_LIMIT = 20_000

Kind = Literal["manifests", "kustomization", "file", "chart"]
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class TemplateError(StepError):
    """The image (or ConfigMap) does not hold what the step asks for. It never will, so there is no point in a retry."""


def resolve(root: Path, path: str, kind: Kind = "manifests") -> str:
    """A file, or a folder of that kind: `path`, checked and normalized, relative to `root`. Raises `TemplateError`.

    The result starts with `./`, so that no command takes it for an option, a URL or standard input.
    """
    fault = sources.find_path_fault(path)
    if fault is not None:
        raise TemplateError(f"template path {fault}")
    try:
        _check(root, path, kind)
    except PermissionError as error:
        raise TemplateError(
            f"template '{path}' cannot be read by the runner's user {os.geteuid()} ({error}): make it "
            "world-readable with `RUN chmod -R a+rX /templates` in the image's Dockerfile"
        ) from error
    except OSError as error:
        raise TemplateError(f"template '{path}' cannot be read by the runner's user {os.geteuid()}: {error}") from error
    normalized = posixpath.normpath(path)
    return normalized if normalized == "." else f"./{normalized}"


def _check(root: Path, path: str, kind: Kind) -> None:
    """Raises `TemplateError` for what is not there or not inside, `OSError` for what cannot be read."""
    if not root.is_dir():
        raise TemplateError(f"template '{path}' does not exist: the image has no folder /templates")
    target = _follow(root, path, path)
    if target.is_dir():
        _check_folder(root, target, path, kind)
    elif not target.is_file():
        raise TemplateError(f"template '{path}' does not exist in /templates ({_describe(root)})")
    elif kind == "kustomization":
        raise TemplateError(f"template '{path}' must be a folder with a {KUSTOMIZATIONS[0]}, not a file")
    else:
        _check_readable(target)


def _check_folder(root: Path, folder: Path, path: str, kind: Kind) -> None:
    if kind == "manifests":
        _check_manifests(root, folder, path)
        return
    if kind == "file":
        raise TemplateError(f"template '{path}' must be a file, not a folder")
    if kind == "kustomization" and not any((folder / name).is_file() for name in KUSTOMIZATIONS):
        raise TemplateError(f"template folder '{path}' has no {KUSTOMIZATIONS[0]} ({_describe(root)})")
    if kind == "chart" and not (folder / "Chart.yaml").is_file():
        raise TemplateError(f"chart folder '{path}' has no Chart.yaml ({_describe(root)})")
    _check_links(root, folder, path)


def _check_links(root: Path, folder: Path, path: str) -> None:
    """Tools that read whole trees follow links as well."""
    ahead, seen = [folder], 0
    while ahead:
        for entry in list(os.scandir(ahead.pop())):
            seen += 1
            if seen > ENTRIES_LIMIT:
                raise TemplateError(f"template folder '{path}' holds more than {ENTRIES_LIMIT} files")
            if entry.is_symlink():
                _follow(root, entry.path, path)
            elif entry.is_dir(follow_symlinks=False):
                ahead.append(Path(entry.path))


def _follow(root: Path, name: str, path: str) -> Path:
    try:
        target = (root / name).resolve()
        inside = target.is_relative_to(root.resolve())
    except RuntimeError as error:  # a loop of links
        raise TemplateError(f"template '{path}' cannot be read: {error}") from error
    if not inside:
        raise TemplateError(f"template '{path}' must stay inside /templates, but a link leads outside")
    return target


def _check_manifests(root: Path, folder: Path, path: str) -> None:
    """kubectl reads the files of a folder, not of those below it, and follows links."""
    files = [entry for entry in sorted(folder.iterdir()) if entry.suffix in SUFFIXES and not entry.is_dir()]
    if not files:
        raise TemplateError(f"template folder '{path}' has no {', '.join(SUFFIXES)} file ({_describe(root)})")
    for entry in files:
        _check_readable(_follow(root, str(entry), path))


def _check_readable(file: Path) -> None:
    """kubectl would say it as well, but not what to do, and it would be retried."""
    with file.open("rb"):
        pass


def _describe(root: Path) -> str:
    """The files there are, so that a typing error is seen at once."""
    names = list_files(root)
    if not names:
        return "it is empty"
    more = f", … {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
    return f"found: {', '.join(names[:SHOWN_FILES])}{more}"


def list_files(root: Path, limit: int = 1000) -> list[str]:
    """All files below `root`, relative, sorted; without hidden ones such as a ConfigMap volume's `..data`."""
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        base = os.path.relpath(folder, root)
        found += [posixpath.normpath(posixpath.join(base, name)) for name in files if not name.startswith(".")]
        if len(found) >= limit:
            break
    return sorted(found)
