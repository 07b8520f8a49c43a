"""A writable copy of a folder, limited in size: of the templates, with nothing from outside; or of what scripts made of them."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import field
from pathlib import Path

from nestor.runner.errors import StepError
from nestor.values import dataclass

BYTES_LIMIT = 512 * 2**20
FILES_LIMIT = 50_000


@dataclass
class Copier:
    """Copies one folder; `stop` ends it early, from another thread. `left_out` says what was not copied, and why."""

    source: Path
    target: Path
    is_verbatim: bool = False
    """Whether links stay what they are, wherever they lead, as in a copy of our own to go back to."""
    bytes_limit: int = BYTES_LIMIT
    files_limit: int = FILES_LIMIT
    stop: threading.Event = field(default_factory=threading.Event)
    left_out: list[str] = field(default_factory=list)
    _bytes: int = 0
    _files: int = 0

    def run(self) -> None:
        """Copy all. Raises `StepError` beyond the limits, `OSError` when the target cannot be written.

        Unless `is_verbatim`, links to files become files, links to folders stay links, and what leads out of the folder is left
        out. So is what is neither file nor folder. All of the copy is its owner's to write. What begins with `..` is a ConfigMap
        volume's own.
        """
        root = self.source.resolve()
        self.target.mkdir(parents=True, exist_ok=True)
        ahead = [Path()]
        while ahead:
            folder = ahead.pop()
            try:
                entries = sorted(os.scandir(self.source / folder), key=lambda entry: entry.name)
            except OSError as error:
                self.left_out.append(f"'{folder}': {error.strerror}")
                continue
            for entry in entries:
                if self.stop.is_set():
                    return
                name = folder / entry.name
                if (self.is_verbatim or not entry.name.startswith("..")) and self._copy(root, entry, name):
                    ahead.append(name)

    def _copy(self, root: Path, entry: os.DirEntry[str], name: Path) -> bool:
        """Copy one entry; whether it is a folder, to be copied as well."""
        self._files += 1
        self._check()
        target = self.target / name
        if entry.is_dir(follow_symlinks=False):
            target.mkdir(exist_ok=True)
            return True
        if entry.is_symlink() and self.is_verbatim:
            target.symlink_to(os.readlink(entry.path))
        elif entry.is_symlink():
            self._copy_link(root, Path(entry.path), name)
        elif entry.is_file(follow_symlinks=False):
            self._copy_file(Path(entry.path), name)
        else:
            self.left_out.append(f"'{name}': neither a file nor a folder")
        return False

    def _copy_link(self, root: Path, link: Path, name: Path) -> None:
        try:
            found = link.resolve(strict=True)
        except (OSError, RuntimeError):
            self.left_out.append(f"'{name}': a broken link")
            return
        if not found.is_relative_to(root):
            self.left_out.append(f"'{name}': a link to outside the folder")
        elif found.is_dir():
            (self.target / name).symlink_to(os.path.relpath(found, (root / name).parent))
        elif found.is_file():
            self._copy_file(found, name)

    def _copy_file(self, file: Path, name: Path) -> None:
        try:
            with file.open("rb") as reader:
                status = os.fstat(reader.fileno())
                self._bytes += status.st_size
                self._check()
                with (self.target / name).open("wb") as writer:
                    shutil.copyfileobj(reader, writer, 2**20)
            (self.target / name).chmod(status.st_mode & 0o777 | 0o600)
            os.utime(self.target / name, ns=(status.st_atime_ns, status.st_mtime_ns))
        except PermissionError as error:
            self.left_out.append(f"'{name}': {error.strerror}")

    def _check(self) -> None:
        if self._bytes > self.bytes_limit or self._files > self.files_limit:
            raise StepError(
                "/templates is too large for a step that needs a copy of it: at most "
                f"{self.bytes_limit // 2**20} MiB and {self.files_limit} files"
            )
