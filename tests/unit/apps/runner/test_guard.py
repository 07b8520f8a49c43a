import os
from pathlib import Path

import pytest
import yaml

from nestor.apps.runner import guard

GOLDEN = Path(__file__).parents[3] / "golden"


def write_cgroup(folder: Path, limit: str, current: int, **fields: int) -> None:
    (folder / "memory.max").write_text(limit + "\n")
    (folder / "memory.current").write_text(f"{current}\n")
    (folder / "memory.stat").write_text("".join(f"{key} {value}\n" for key, value in fields.items()))


def test_what_the_kernel_caches_of_files_is_not_used_memory(tmp_path: Path) -> None:
    write_cgroup(tmp_path, "1000", 900, anon=100, file=700, shmem=50)
    assert guard.read_memory(tmp_path) == guard.Memory(250, 1000)


def test_without_a_limit_or_a_cgroup_there_is_nothing_to_watch(tmp_path: Path) -> None:
    assert guard.read_memory(tmp_path) is None
    write_cgroup(tmp_path, "max", 900)
    assert guard.read_memory(tmp_path) is None


@pytest.mark.parametrize(("used", "is_too_much"), [(0, False), (80, False), (81, True)])
def test_memory_is_told_before_the_kernel_ends_the_pod(used: int, is_too_much: bool) -> None:
    reason = guard.check_memory(guard.Memory(used * 2**20, 100 * 2**20))
    assert reason == ("the runner's pod uses 81 MiB of its 100 MiB of memory" if is_too_much else None)


def test_a_folders_size_is_that_of_all_below_it_without_what_links_lead_to(tmp_path: Path) -> None:
    (tmp_path / "work" / "a" / "b").mkdir(parents=True)
    (tmp_path / "big").write_bytes(b"x" * 10_000_000)
    (tmp_path / "work" / "a" / "b" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "work" / "link").symlink_to("../big")
    size, files = guard.measure_folder(tmp_path / "work", bytes_limit=2**30)
    assert 100_000 <= size < 200_000
    assert files == 4


def test_a_folder_that_is_deeper_than_a_path_can_tell_is_no_trouble(tmp_path: Path) -> None:
    home = Path.cwd()
    try:
        os.chdir(tmp_path)
        for _ in range(30):
            os.mkdir("x" * 200)
            os.chdir("x" * 200)
        Path("file").touch()
    finally:
        os.chdir(home)
    _, files = guard.measure_folder(tmp_path, bytes_limit=2**30)
    assert 15 < files < 30


def test_the_limits_are_below_those_of_the_pods_volumes() -> None:
    documents = yaml.safe_load_all((GOLDEN / "runner.yaml").read_text())
    pod = next(document for document in documents if document.get("kind") == "Pod")
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert volumes["work"]["emptyDir"]["sizeLimit"] == "1Gi"
    assert volumes["tmp"]["emptyDir"]["sizeLimit"] == "256Mi"
    assert guard.WORK_LIMIT < 2**30
    assert guard.TEMPORARY_LIMIT < 256 * 2**20
