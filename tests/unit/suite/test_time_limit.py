"""A test that hangs is ended, says where it was, and lets the others run."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]

HANGING = """
import asyncio
import time
import pytest

async def in_a_task():
    await asyncio.sleep(600)  # one

async def test_a_task():
    await asyncio.gather(in_a_task())

def test_plain_code():
    time.sleep(600)  # two

@pytest.fixture
async def godot():
    await asyncio.sleep(600)  # three

def test_a_fixture(godot):
    assert False, "it never comes so far"

@pytest.mark.timeout(60)
async def test_comes_next():
    assert True
"""


def test_a_test_that_hangs_is_ended_and_says_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(HANGING)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={tmp_path}"]
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "--timeout=0.3", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    result = subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    *_, summary = result.stdout.splitlines()
    assert "2 failed, 1 passed, 1 error" in summary, result.stdout
    assert result.stdout.count("Timeout (>0.3s) from pytest-timeout.") >= 3
    for place in ("one", "two", "three"):
        assert f"600)  # {place}" in result.stdout, result.stdout


def test_every_test_has_a_limit_that_leaves_its_fixtures_to_be_torn_down() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["timeout"] > 0
    # By a thread, the limit would end the whole process, and leave clusters behind.
    assert options["timeout_method"] == "signal"
