"""Programs for another processor than this machine's. No API server is asked; Go is there, as for all of these tests."""

from pathlib import Path

import pytest

from devcluster.build import cache, commands, cross
from devcluster.progress import Silent
from tests.integration import apiserver

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("machine", ["amd64", "arm64"])
def test_a_program_is_for_the_machine_that_it_is_built_for(tmp_path: Path, machine: str) -> None:
    """The smallest one: the compiler and its options are those of kubectl and helm."""
    at = cache.Cache(tmp_path)
    programs = cross.ensure_programs(at, Silent(), machine, ("pause",))
    assert cross.read_machine(programs["pause"]) == machine
    again = programs["pause"].stat().st_mtime_ns
    assert cross.ensure_programs(at, Silent(), machine, ("pause",))["pause"].stat().st_mtime_ns == again


def test_a_program_for_another_machine_is_refused() -> None:
    with pytest.raises(commands.BuildError, match=r"is for amd64, not for arm64"):
        cross.check(apiserver.binary("pause").resolve(), "arm64")


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(commands.BuildError, match="no 64-bit little-endian ELF"):
        cross.read_machine(script)


def test_what_has_parts_in_c_is_not_built(tmp_path: Path) -> None:
    with pytest.raises(commands.BuildError, match="parts in C"):
        cross.ensure_programs(cache.Cache(tmp_path), Silent(), "arm64", ("kine",))
