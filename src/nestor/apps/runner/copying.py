"""A writable copy of a folder of templates, limited in size; and removing it again."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path

from nestor.apps.runner.errors import StepError

BYTES_LIMIT = 400 * 2**20
"""So that what steps left and a copy of it fit into the pod's volume (`guard.WORK_LIMIT`)."""
FILES_LIMIT = 50_000


@dataclass
class Copier:
    """Copies one folder; `stop` ends it early, from another thread. `left_out` says what was not copied, and why."""

    source: Path
    target: Path
    follows: bool = False
    """Whether links to files within the folder become files, of which each can be changed."""
    stop: threading.Event = field(default_factory=threading.Event)
    left_out: list[str] = field(default_factory=list)
    _bytes: int = 0
    _files: int = 0

    def run(self) -> None:
        """Copy all. Raises `StepError` beyond the limits, `OSError` when the target cannot be written.

        Other links stay what they are. All of the copy is its owner's to write.
        """
        # The files of a ConfigMap's volume are links into a folder that kubelet exchanges.
        data = self.source / "..data"
        root = data.resolve() if data.is_symlink() else self.source
        self.target.mkdir()
        for folder, folders, files in os.walk(root, onerror=self._leave_out):
            target = self.target / Path(folder).relative_to(root)
            target.mkdir(exist_ok=True)
            for name in [*folders, *files]:
                if self.stop.is_set():
                    return
                self._copy(self._find_file(root, Path(folder, name)), target / name)

    def _find_file(self, root: Path, path: Path) -> Path:
        """The file within `root` that a link leads to, if that is to be copied; otherwise `path` itself."""
        try:
            found = path.resolve() if self.follows and path.is_symlink() else path
        except RuntimeError:  # a loop of links
            return path
        return found if found.is_file() and found.is_relative_to(root.resolve()) else path

    def _copy(self, source: Path, target: Path) -> None:
        status = source.lstat()
        self._files += 1
        self._bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if self._bytes > BYTES_LIMIT or self._files > FILES_LIMIT:
            limits = f"{BYTES_LIMIT // 2**20} MiB and {FILES_LIMIT} files"
            raise StepError(f"/templates is too large for a step that needs a copy of it: at most {limits}")
        if stat.S_ISLNK(status.st_mode):
            target.symlink_to(os.readlink(source))
        elif stat.S_ISREG(status.st_mode):
            try:
                shutil.copy2(source, target)
            except PermissionError as error:
                self._leave_out(error)
            else:
                target.chmod(status.st_mode & 0o777 | 0o600)
        elif not stat.S_ISDIR(status.st_mode):
            self.left_out.append(f"'{source}': neither a file nor a folder")

    def _leave_out(self, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # an app may have no templates
            self.left_out.append(f"'{error.filename}': {error.strerror}")


def remove(path: Path) -> None:
    """With everything in it; what is nested too deeply to be removed stays, and counts for the limits."""
    with contextlib.suppress(OSError, RecursionError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            _open_up(path)
            shutil.rmtree(path, ignore_errors=True)


def _open_up(folder: Path) -> None:
    """Scripts leave folders that nobody may write to, as caches of modules are: they are ours all the same."""
    folder.chmod(0o700)
    for name, folders, _ in os.walk(folder):
        for inner in folders:
            path = os.path.join(name, inner)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
