"""What a failing command tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster.build import commands
from devcluster.build.commands import BuildError


def test_a_failure_shows_the_end_of_the_log_and_where_it_is(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.log"
    with pytest.raises(BuildError) as failure:
        commands.run(["sh", "-c", "for i in $(seq 50); do echo line $i; done; exit 7"], log)
    message = str(failure.value)
    assert "'sh' failed with exit code 7" in message
    assert str(log) in message
    assert "line 50" in message
    assert "line 20\n" not in message


def test_each_line_is_told_as_it_comes_and_kept_in_the_log(tmp_path: Path) -> None:
    heard: list[str] = []
    with pytest.raises(BuildError, match=r"exit code 3; [\s\S]*  two$"):
        commands.run(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path / "x.log", heard=heard.append)
    assert heard == ["one\n", "two\n"]
    assert (tmp_path / "x.log").read_text().endswith("one\ntwo\n")
