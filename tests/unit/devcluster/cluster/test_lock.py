"""One cluster per machine: two processes that each think that it is theirs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import lock
from devcluster.cluster.paths import Paths
from devcluster.progress import Silent
from tests.unit.devcluster.lines import Lines

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


def test_a_killed_run_keeps_nobody_waiting(tmp_path: Path, layout: Paths) -> None:
    with Other(tmp_path / "cache", "run") as other:
        other.wait_until_it_has_the_lock()
    said = Lines()
    with lock.run(layout, "devcluster up", said):
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


# `python -m devcluster …` with the locks of this test, and without the half minute before a log hears that something takes long.
COMMAND = """
import sys
from pathlib import Path
from devcluster import __main__, progress
from devcluster.cluster import lock
lock.FOLDER, progress.STILL_RUNNING_SECONDS = Path(sys.argv[1]), 0.1
sys.exit(__main__.main(sys.argv[2:]))
"""


def start_make_test(checkout: Path, script: str) -> subprocess.Popen[str]:
    """What `make test` does in a checkout with a cache of its own: it holds the cluster while the script runs."""
    checkout.mkdir()
    command = [sys.executable, "-c", COMMAND, str(lock.FOLDER), "hold", "--", "sh", "-c", script]
    environment = {name: value for name, value in os.environ.items() if name not in (lock.VARIABLE, "CLUSTER")}
    environment |= {"NESTOR_CACHE": str(checkout / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=checkout, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_a_test_run_of_another_checkout_waits_for_the_first_one_and_says_so(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    with start_make_test(tmp_path / "one", f"echo begun; read line; echo first >> {marks}") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        with start_make_test(tmp_path / "two", f"echo begun; echo second >> {marks}") as second:
            assert second.stderr is not None
            waited = second.stderr.readline()
            assert waited.startswith("… Wait for sh -c echo begun; read line")
            assert f"by process {first.pid} in {tmp_path}/one, cache {tmp_path}/one/cache" in waited
            assert not marks.exists()
            first.communicate("end\n", timeout=60)
            second.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 0)
    assert marks.read_text() == "first\nsecond\n"


@pytest.mark.parametrize("target", ["test", "test-full", "core", "lifecycle", "jobs"])
def test_whatever_starts_or_ends_the_cluster_holds_it(target: str) -> None:
    text = (Path(__file__).parents[4] / "Makefile").read_text()
    (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert re.search(r"\$\(HOLD\) (env \$\(RUN\)|\$\(MAKE\)) ", recipe.splitlines()[-1])
