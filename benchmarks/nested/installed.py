"""Nestor as the image has it."""

import compileall
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

SOURCES = Path(__file__).parents[2] / "src/nestor"


@contextlib.contextmanager
def installed() -> Iterator[Path]:
    """A folder with the compiled package: compiling takes a process as long as its imports, and memory that it keeps."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(SOURCES, folder / "nestor", ignore=shutil.ignore_patterns("__pycache__"))
        if not compileall.compile_dir(folder, quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH):
            raise RuntimeError("the sources do not compile")
        yield folder
