"""The images that have a Dockerfile: Nestor itself and the example applications."""

import re
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
HELLO = EXAMPLES / "01-hello-world"
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
    return [(nestor_reference(), REPOSITORY), *((example_reference(folder), folder) for folder in example_folders())]


def ensure_nestor(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """Reference and archive of the Nestor image with all tools; an unchanged tree costs nothing."""
    return _ensure_nestor(cache, progress, nestor_reference())


def ensure_core(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """The same without the tools that only steps use. It needs no program of ours, so it is made while these are built."""
    repository, _, tag = nestor_reference().rpartition(":")
    return _ensure_nestor(cache, progress, f"{repository}-core:{tag}", "core")


def prepare_nestor(cache: Cache, progress: Progress) -> None:
    """Have the layers of the whole image that hold no program of ours."""
    if not _archive(cache, nestor_reference()).exists():
        _build_nestor(cache, Buildah(cache), progress, "localhost/nestor-commands", "commands")


def _ensure_nestor(cache: Cache, progress: Progress, reference: str, target: str = "") -> tuple[str, Path]:
    """`target`: the stage of the Dockerfile, if it is not the last one."""
    archive = _archive(cache, reference, target)
    if not archive.exists():
        machine.check_disk(base.DISK_GIGABYTES, "to build the Nestor image", cache.root)
        buildah, local = Buildah(cache), f"localhost/{_name(reference)}"
        _build_nestor(cache, buildah, progress, local, target)
        with progress.stage(f"Save the image {_name(reference)}"):
            buildah.save(local, reference, archive)
    return reference, archive


def _build_nestor(cache: Cache, buildah: Buildah, progress: Progress, local: str, target: str) -> None:
    arguments = {"BASE": base.ensure_base(cache, buildah, progress), "PIP_OPTIONS": "--no-index --find-links=/wheels"}
    if not target:
        arguments["KUBECTL_IMAGE"] = arguments["HELM_IMAGE"] = base.ensure_tools_image(cache, buildah, progress)
    volumes = [f"{wheels.ensure_wheels(cache, progress)}:/wheels:ro"]
    with progress.stage(f"Build the image nestor{f', its stage {target}' if target else ''}"):
        buildah.build(REPOSITORY, local, arguments=arguments, volumes=volumes, target=target)


def _archive(cache: Cache, reference: str, target: str = "") -> Path:
    tools = [] if target else [gobuild.folder(cache, item).name for item in COMPONENTS if item.name in ("kubectl", "helm")]
    inputs = keys.files_below(REPOSITORY, *NESTOR_SOURCES)
    return cache.images / f"{_name(reference)}-{keys.file_key(REPOSITORY, inputs, reference, *tools, base.KEY)}.tar"


def _name(reference: str) -> str:
    return reference.rpartition("/")[2].partition(":")[0]


def ensure_python(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """Reference and archive of the image with Python: the Nestor image's base, so its layer is stored once."""
    archive = cache.images / f"python-{base.KEY}.tar"
    if not archive.exists():
        buildah = Buildah(cache)
        local_base = base.ensure_base(cache, buildah, progress)
        with progress.stage("Save the image with Python"):
            buildah.save(local_base, PYTHON, archive)
    return PYTHON, archive


def ensure_example(cache: Cache, progress: Progress, folder: Path) -> tuple[str, Path]:
    """Reference and archive of an example's application image."""
    name, reference = example_name(folder), example_reference(folder)
    archive = cache.images / f"example-{name}-{keys.file_key(folder, keys.files_below(folder, '**/*'))}.tar"
    if not archive.exists():
        with progress.stage(f"Build the image of example {name}"):
            buildah = Buildah(cache)
            buildah.build(folder, f"localhost/examples/{name}")
            buildah.save(f"localhost/examples/{name}", reference, archive)
    return reference, archive


def example_folders() -> list[Path]:
    """The examples with an image of their own."""
    return [dockerfile.parent for dockerfile in sorted(EXAMPLES.glob("*/Dockerfile"))]


def example_reference(folder: Path) -> str:
    """The image of an example."""
    return f"{HOST}/examples/{example_name(folder)}:{EXAMPLE_TAG}"


def example_name(folder: Path) -> str:
    """Folder names begin with a number that orders them; image names do not."""
    return re.sub(r"^\d+-", "", folder.name)
