"""The redis image's entry point, with a `redis-server` that only prints its arguments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from devcluster.build import assembled


@pytest.mark.parametrize(
    ("given", "ran"),
    [
        (["redis-server"], "redis-server --protected-mode no"),
        (["--appendonly", "yes"], "redis-server --appendonly yes --protected-mode no"),
        (["/etc/redis.conf"], "redis-server /etc/redis.conf --protected-mode no"),
        (["echo", "other"], "other"),
    ],
)
def test_options_alone_are_for_the_server_and_other_commands_stay_as_they_are(given: list[str], ran: str, tmp_path: Path) -> None:
    server = tmp_path / "redis-server"
    server.write_text('#!/bin/sh\necho "redis-server $*"\n')
    server.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run([assembled.REDIS_SCRIPT, *given], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.strip() == ran
