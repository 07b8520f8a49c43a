"""The command line as one file, for machines with Python and nothing else: `python3.11 nestor.pyz`.

It has the libraries that the lock file has pinned, as they are installed here. The first start unpacks them into the user's
cache: machine code cannot be imported from an archive, and compiled files start sooner. The `kubernetes` package, most of the
bytes and rarely imported, stays in the archive.
"""

import hashlib
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from devcluster.build.cache import REPOSITORY

LOCAL = ("direct_url.json", "INSTALLER", "RECORD", "REQUESTED")  # what an installation writes


def find_distributions(wanted: list[str]) -> dict[str, Distribution]:
    """What these requirements come to, of what is installed."""
    found: dict[str, Distribution] = {}
    for need in (Requirement(text) for text in wanted):
        name = canonicalize_name(need.name)
        if name not in found and (need.marker is None or need.marker.evaluate({"extra": ""})):
            found[name] = distribution(name)
            wanted += found[name].requires or ()
    return found


def write(target: Path, wanted: list[str]) -> None:
    """The file; the same for the same content."""
    files = {name: source.read_bytes() for name, source in _list_files(wanted)}
    key = hashlib.sha256(b"".join(name.encode() + content for name, content in sorted(files.items()))).hexdigest()[:16]
    files["__main__.py"] = Path(__file__).with_name("start.py").read_bytes().replace(b"unbuilt", key.encode())
    with target.open("wb") as raw, zipfile.ZipFile(raw, "w", compresslevel=9) as archive:
        raw.write(b"#!/usr/bin/env python3.11\n")
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    target.chmod(0o755)


def _list_files(wanted: list[str]) -> Iterator[tuple[str, Path]]:
    own = REPOSITORY / "src"
    yield from ((f"site/{path.relative_to(own)}", path) for path in own.rglob("*") if path.is_file() and path.suffix != ".pyc")
    for name, found in find_distributions(wanted).items():
        for file in found.files or ():
            if file.suffix != ".pyc" and ".." not in file.parts and file.name not in LOCAL:
                yield f"{'' if name == 'kubernetes' else 'site/'}{file}", Path(str(found.locate_file(file)))
