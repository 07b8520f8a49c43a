"""Downloads the Python packages of the Nestor image outside of its build, which then needs no network. And a test's engine."""

import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from devcluster.build import commands, keys
from devcluster.build.cache import REPOSITORY, Cache, link
from devcluster.progress import Progress

LOCK = REPOSITORY / "requirements" / "runtime.txt"
ENGINE_LOCK = LOCK.with_name("snakemake.txt")
PYPROJECT = REPOSITORY / "pyproject.toml"
PYTHON_VERSION = "3.11"
"""Python of the image's base, Debian 12."""


def ensure_wheels(cache: Cache, progress: Progress) -> Path:
    """A folder with the wheels of the lock file, of the build backend and of pip itself."""
    backend = [*tomllib.loads(PYPROJECT.read_text())["build-system"]["requires"], "pip"]
    folder = cache.wheels / keys.key(PYTHON_VERSION, LOCK.read_bytes(), *backend)
    if not folder.exists():
        with progress.stage("Download the Nestor image's Python packages"):
            cache.wheels.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".new-", dir=cache.wheels) as temporary:
                _download(cache, Path(temporary), ["--require-hashes", "--requirement", str(LOCK)])
                _download(cache, Path(temporary), backend)
                Path(temporary).chmod(0o755)
                shutil.copytree(temporary, folder)
    return folder


def ensure_snakemake(cache: Cache, progress: Progress) -> list[tuple[str, Path]]:
    """Have the workflow engine Snakemake in `bin`, installed into an environment of its own; no image."""
    folder = cache.wheels / f"snakemake-{keys.key(sys.version, ENGINE_LOCK.read_bytes())}"
    with cache.lock("snakemake"):
        if not (folder / ".ready").exists():
            with progress.stage("Install Snakemake"):
                commands.run([sys.executable, "-m", "venv", "--clear", str(folder)], cache.log / "venv.log")
                pip = [str(folder / "bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
                commands.run([*pip, "--require-hashes", "--requirement", str(ENGINE_LOCK)], cache.log / "pip-install.log")
                (folder / ".ready").touch()
        link(cache.bin / "snakemake", folder / "bin/snakemake")
    return []


def _download(cache: Cache, folder: Path, packages: list[str]) -> None:
    """Wheels only: what pip would have to compile could not be installed in the image either."""
    target = ["--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON_VERSION}", f"--dest={folder}"]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
    commands.run([*pip, *_platforms(), *target, *packages], cache.log / "pip-download.log")


def _platforms() -> list[str]:
    """What Debian 12 (glibc 2.36) can load, newest first: pip takes the list literally and derives nothing from it."""
    return [f"--platform=manylinux_2_{minor}_x86_64" for minor in (36, 35, 34, 31, 28, 17)] + ["--platform=manylinux2014_x86_64"]
