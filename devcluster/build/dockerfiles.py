"""The images that have a Dockerfile: Nestor itself and the example applications."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from devcluster.build import base, gobuild, keys, machine, wheels
from devcluster.build.buildah import Buildah
from devcluster.build.cache import REPOSITORY, Cache
from devcluster.build.components import COMPONENTS
from devcluster.progress import Progress

HOST = "registry.nestor.localhost"
PYTHON = "docker.io/library/python:3.11-slim-bookworm"
"""What the Nestor image is based on; examples use it as well."""
EXAMPLES = REPOSITORY / "examples"
EXAMPLE_TAG = "1"
NESTOR_SOURCES = ("Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE", "requirements/runtime.txt", "src/**/*")


def nestor_reference() -> str:
    """The Nestor image by its version."""
    text = (REPOSITORY / "src" / "nestor" / "__init__.py").read_text()
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if not found:
        raise ValueError("src/nestor/__init__.py has no `__version__`")
    return f"{HOST}/nestor:{found[1]}"


def list_sources() -> list[tuple[str, Path]]:
    """Reference and folder of every image that has a Dockerfile, for those who build with Docker."""
    return [(nestor_reference(), REPOSITORY), *((example_reference(folder), folder) for folder in _example_folders())]


def ensure_nestor(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """Reference and archive of the Nestor image with all tools; an unchanged tree costs nothing."""
    return _ensure_nestor(cache, progress, nestor_reference(), base.PACKAGES, "")


def ensure_core(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """The same without the tools that only steps use."""
    repository, _, tag = nestor_reference().rpartition(":")
    return _ensure_nestor(cache, progress, f"{repository}-core:{tag}", base.CORE, "core")


def _ensure_nestor(cache: Cache, progress: Progress, reference: str, packages: Sequence[str], target: str) -> tuple[str, Path]:
    """`packages`: of the base. `target`: the stage of the Dockerfile, if it is not the last one."""
    tools = [gobuild.folder(cache, component).name for component in COMPONENTS if component.name in ("kube", "helm")]
    inputs = keys.files_below(REPOSITORY, *NESTOR_SOURCES)
    name = reference.rpartition("/")[2].partition(":")[0]
    archive = cache.images / f"{name}-{keys.file_key(REPOSITORY, inputs, reference, *tools, *packages, *base.LEFT_OUT)}.tar"
    if not archive.exists():
        buildah = Buildah(cache)
        machine.check_disk(base.DISK_GIGABYTES, "to build the Nestor image", cache.root)
        local_base = base.ensure_base(cache, buildah, progress, packages)
        local_tools = base.ensure_tools_image(cache, buildah, progress)
        wheelhouse = wheels.ensure_wheels(cache, progress)
        with progress.stage(f"Build the image {name}"):
            arguments = {
                "BASE": local_base,
                "KUBECTL_IMAGE": local_tools,
                "HELM_IMAGE": local_tools,
                "PIP_OPTIONS": "--no-index --find-links=/wheels",
            }
            local = f"localhost/{name}"
            buildah.build(REPOSITORY, local, arguments=arguments, volumes=[f"{wheelhouse}:/wheels:ro"], target=target)
            buildah.save(local, reference, archive)
    return reference, archive


def ensure_python(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """Reference and archive of the image with Python: the Nestor image's base, so its layer is stored once."""
    archive = cache.images / f"python-{keys.key(base.SUITE, *base.PACKAGES, *base.LEFT_OUT)}.tar"
    if not archive.exists():
        buildah = Buildah(cache)
        local_base = base.ensure_base(cache, buildah, progress)
        with progress.stage("Save the image with Python"):
            buildah.save(local_base, PYTHON, archive)
    return PYTHON, archive


def ensure_examples(cache: Cache, progress: Progress) -> list[tuple[str, Path]]:
    """Reference and archive of each example's application image."""
    found = []
    for folder in _example_folders():
        name = example_name(folder)
        archive = cache.images / f"example-{name}-{keys.file_key(folder, keys.files_below(folder, '**/*'))}.tar"
        reference = example_reference(folder)
        if not archive.exists():
            with progress.stage(f"Build the image of example {name}"):
                buildah = Buildah(cache)
                buildah.build(folder, f"localhost/examples/{name}")
                buildah.save(f"localhost/examples/{name}", reference, archive)
        found.append((reference, archive))
    return found


def _example_folders() -> list[Path]:
    return [dockerfile.parent for dockerfile in sorted(EXAMPLES.glob("*/Dockerfile"))]


def example_reference(folder: Path) -> str:
    """The image of an example."""
    return f"{HOST}/examples/{example_name(folder)}:{EXAMPLE_TAG}"


def example_name(folder: Path) -> str:
    """Folder names begin with a number that orders them; image names do not."""
    return re.sub(r"^\d+-", "", folder.name)
