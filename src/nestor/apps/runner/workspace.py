"""Where steps work: the templates, a copy of them for each attempt of a script, and a fresh folder for each attempt."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nestor.api import labels
from nestor.apps.runner import guard
from nestor.apps.runner.attempt import Attempt, AttemptError, Show, StepError
from nestor.apps.steps import Plan, Step
from nestor.apps.steps.types import TYPES

SHOWN_NOTES = 10
HOME = "home"
HELM_FOLDERS = {"HELM_CACHE_HOME": "cache", "HELM_CONFIG_HOME": "config", "HELM_DATA_HOME": "data"}
BYTES_LIMIT = 400 * 2**20
"""So that what steps left and a copy of it fit into the pod's volume (`guard.WORK_LIMIT`)."""
FILES_LIMIT = 50_000


@dataclass(frozen=True)
class Place:
    """The folders that the pod has: `templates` is read-only, `work` and `temporary` are small volumes."""

    templates: Path
    kubeconfig: Path
    work: Path
    temporary: Path | None = None

    @property
    def limits(self) -> guard.Limits:
        """What steps may write there."""
        folders = [(self.work, guard.WORK_LIMIT), (self.temporary, guard.TEMPORARY_LIMIT)]
        return guard.Limits(tuple((folder, most) for folder, most in folders if folder is not None))


@dataclass(frozen=True)
class Desk:
    """One attempt's own: a folder that goes with it, and what its processes see of the world."""

    folder: Path
    environment: dict[str, str]


class Workspace:
    """One runner's. Until a script needs it there is no copy of the templates; from then on all steps work in it, since what a
    script leaves there may be what the next step applies. Each attempt of a script has a new copy, at the same path, of what
    the last script that succeeded left.
    """

    def __init__(self, place: Place, plan: Plan) -> None:
        self.place = place
        self._plan = plan
        self._writable = place.work / "templates"
        self._left = place.work / "left"
        """What the last script that succeeded left, while another one is tried."""
        self._has_copy = self._is_accepted = False

    @property
    def root(self) -> Path:
        """The templates in their current state."""
        return self._writable if self._has_copy else self.place.templates

    def explain_missing(self, step: Step) -> str:
        """What to add when a file is not there that an earlier step of this plan may have written; empty when none can have."""
        if not self._has_lost(step):
            return ""
        return (
            "; files that scripts of earlier steps write last as long as the runner's pod, and this pod has not run them: write "
            f"the file in the step that needs it, or run all steps again with the annotation {labels.RERUN}"
        )

    def _has_lost(self, step: Step) -> bool:
        """Whether scripts before this step ran in another pod."""
        earlier = self._plan.steps[: next((index for index, other in enumerate(self._plan.steps) if other == step), 0)]
        return not self._has_copy and any(TYPES[other.type].is_script for other in earlier)

    def make_writable(self, attempt: Attempt) -> Path:
        """A new copy of the templates for an attempt of a script.

        Raises `StepError` when the templates are too many or too large, `AttemptError` when copying fails.
        """
        if self._has_lost(attempt.step):
            attempt.show("another pod ran scripts of earlier steps: what they wrote is not there")
        if self._is_accepted and self._writable.is_dir():
            self._writable.rename(self._left)
        self._is_accepted = False
        source = self._left if self._left.is_dir() else self.place.templates
        self.copy(source, self._writable, attempt.show)
        self._has_copy = True
        return self._writable

    def accept(self) -> None:
        """The attempt succeeded: what it wrote is for the next steps."""
        if self._has_copy:
            self._is_accepted = True
            remove(self._left)

    def copy(self, source: Path, target: Path, show: Show) -> None:
        """Copy a folder of templates to a new place. Raises what `make_writable` does.

        Not in a thread, which an attempt whose time is over could not stop: it would still write when the next one begins.
        """
        copier = Copier(source, target)
        try:
            remove(target)
            copier.run()
        except OSError as error:
            raise AttemptError(f"the templates cannot be copied to {target}: {error}") from error
        for note in copier.left_out[:SHOWN_NOTES]:
            show(f"left out of the copy of /templates: {note}")
        if len(copier.left_out) > SHOWN_NOTES:
            show(f"left out of the copy of /templates: {len(copier.left_out) - SHOWN_NOTES} more")

    @contextlib.contextmanager
    def open(self, attempt: Attempt) -> Iterator[Desk]:
        """A fresh folder and environment for the length of a `with` block."""
        home = self.place.work / HOME
        home.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="attempt-", dir=self.place.work))
        try:
            (folder / "tmp").mkdir()
            # A copy: scripts may set its namespace, and helm warns if others can read it.
            kubeconfig = folder / "kubeconfig"
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_bytes(self.place.kubeconfig.read_bytes())
            yield Desk(folder, self._build_environment(attempt, home, folder))
        finally:
            remove(folder)

    def _build_environment(self, attempt: Attempt, home: Path, folder: Path) -> dict[str, str]:
        """The step's whole environment: nothing of the host or the runner. Parameters cannot override our variables."""
        return {
            "LANG": "C.UTF-8",
            **self._plan.environment,
            **{f"NESTOR_JOB_{key.upper()}": value for key, value in self._plan.facts.items()},
            **{key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ},
            **{key: str(home / ".helm" / name) for key, name in HELM_FOLDERS.items()},
            "KUBECONFIG": str(folder / "kubeconfig"),
            "HOME": str(home),
            "TMPDIR": str(folder / "tmp"),
            "NESTOR_STEP": attempt.step.name,
            "NESTOR_ATTEMPT": str(attempt.number),
        }


@dataclass
class Copier:
    """Copies one folder; `left_out` says what was not copied, and why."""

    source: Path
    target: Path
    left_out: list[str] = field(default_factory=list)
    _bytes: int = 0
    _files: int = 0

    def run(self) -> None:
        """Copy all. Raises `StepError` beyond the limits, `OSError` when the target cannot be written.

        Links stay what they are. All of the copy is its owner's to write.
        """
        # The files of a ConfigMap's volume are links into a folder that kubelet exchanges.
        data = self.source / "..data"
        root = data.resolve() if data.is_symlink() else self.source
        self.target.mkdir()
        for folder, folders, files in os.walk(root, onerror=self._leave_out):
            target = self.target / Path(folder).relative_to(root)
            target.mkdir(exist_ok=True)
            for name in [*folders, *files]:
                self._copy(Path(folder, name), target / name)

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
