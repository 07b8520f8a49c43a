"""One cluster per machine: two processes that each think that it is theirs."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devcluster.cluster import lock
from devcluster.cluster.paths import Paths
from devcluster.progress import Silent, Stage

# Holds a lock until its input ends. Arguments: folder of the locks, cache, which of the two locks.
OTHER = """
import sys
from pathlib import Path
from devcluster.cluster import lock
from devcluster.cluster.paths import Paths
from devcluster.progress import Console
lock.FOLDER, layout = Path(sys.argv[1]), Paths(Path(sys.argv[2]))
with lock.claim(layout) if sys.argv[3] == "cluster" else lock.run(layout, "make test", Console()):
    print("has it", flush=True)
    sys.stdin.read()
"""


class Other:
    """Another process."""

    def __init__(self, cache: Path, which: str) -> None:
        command = [sys.executable, "-c", OTHER, str(lock.FOLDER), str(cache), which]
        environment = {name: value for name, value in os.environ.items() if name != lock.VARIABLE}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_it_has_the_lock(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "has it\n"

    def end(self) -> str:
        """Let it give the lock back; what it told whoever started it."""
        return self._process.communicate(timeout=30)[1]


class Lines(Silent):
    """A progress that remembers titles; `on_begin` gets each before its body runs."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.on_begin: Callable[[str], object] = lambda _: None

    @contextlib.contextmanager
    def stage(self, title: str) -> Iterator[Stage]:
        self.titles.append(title)
        self.on_begin(title)
        yield Stage(title)


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Locks of this test's own."""
    monkeypatch.setattr(lock, "FOLDER", tmp_path / "lock")
    monkeypatch.delenv(lock.VARIABLE, raising=False)
    yield
    assert lock.VARIABLE not in os.environ


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "cache")


@pytest.mark.parametrize("cache", ["cache", "another-cache"])
def test_a_run_waits_for_another_and_says_for_whom(tmp_path: Path, layout: Paths, cache: str) -> None:
    with Other(tmp_path / cache, "run") as other:
        other.wait_until_it_has_the_lock()
        said = Lines()
        said.on_begin = lambda _: other.end()
        with lock.run(layout, "devcluster up", said):
            assert lock.is_held_for_us()
        (waited,) = said.titles
        assert waited.startswith("Wait for make test, started at 2")
        assert f"by process {other.pid} in {os.getcwd()}, cache {tmp_path / cache}" in waited


def test_what_a_run_starts_belongs_to_it(layout: Paths) -> None:
    assert not lock.is_held_for_us()
    said = Lines()
    with lock.run(layout, "make test", said), lock.run(layout, "devcluster up", said):
        assert os.environ[lock.VARIABLE] == str(os.getpid())
        assert lock.is_held_for_us()
    assert not lock.is_held_for_us()
    assert said.titles == []


def test_another_caches_cluster_is_waited_for_and_its_owner_may_end_it_meanwhile(tmp_path: Path, layout: Paths) -> None:
    with Other(tmp_path / "another-cache", "cluster") as other:
        other.wait_until_it_has_the_lock()
        owner = Paths(tmp_path / "another-cache")
        said = Lines()

        def end_it(_: str) -> None:
            with lock.run(owner, "devcluster down", Silent(), wants_cluster=False):
                other.end()

        said.on_begin = end_it
        with lock.run(layout, "devcluster up", said):
            assert lock.other_cluster(layout) is None
        assert [title.startswith("Wait for the cluster, started at 2") for title in said.titles] == [True]


def test_another_caches_cluster_is_not_ours_to_clean_up(tmp_path: Path, layout: Paths) -> None:
    with Other(tmp_path / "another-cache", "cluster") as other:
        other.wait_until_it_has_the_lock()
        with lock.run(layout, "devcluster down", Silent(), wants_cluster=False), lock.claim(layout) as claimed:
            assert claimed is None
        holder = lock.other_cluster(layout)
        assert holder is not None
        assert (holder.pid, holder.cache) == (other.pid, str(tmp_path / "another-cache"))
    with lock.claim(layout) as claimed:
        assert claimed is not None


@pytest.mark.parametrize("target", ["test", "test-full", "core", "lifecycle", "jobs"])
def test_whatever_starts_or_ends_the_cluster_holds_it(target: str) -> None:
    text = (Path(__file__).parents[4] / "Makefile").read_text()
    (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert re.search(r"\$\(HOLD\) (env \$\(RUN\)|\$\(MAKE\)) ", recipe.splitlines()[-1])
