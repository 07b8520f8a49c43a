"""Paths inside a mounted image, as a process in it would see them: links are followed within the image, never out of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

LINK_LIMIT = 40
"""The kernel's own limit."""


def follow(root: Path, path: str) -> Path:
    """Where `path` of the image is. Raises `OSError` for a loop of links, or where a folder on the way cannot be searched."""
    steps, found, links = _split(path), root, 0
    while steps:
        step = steps.pop(0)
        if step == "..":
            found = found if found == root else found.parent
            continue
        found = found / step
        if not found.is_symlink():
            continue
        links += 1
        if links > LINK_LIMIT:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(found)
        found = root if target.startswith("/") else found.parent
        steps = _split(target) + steps
    return found


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
