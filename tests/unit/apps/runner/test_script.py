from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nestor.apps.runner import programs
from nestor.apps.runner.attempt import StepError


def run(content: bytes, folder: Path) -> str:
    command = programs.write_script(content, folder / "script")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (b"#!/bin/bash\necho $BASH_VERSION | wc -w", "1\n"),
        (b"#!/usr/bin/env python3\nprint(1 + 1)", "2\n"),
        (b"#! /bin/sh -e\necho fine", "fine\n"),
        (b"echo no line of its own", "no line of its own\n"),
        (b"\n#!/bin/false\necho a comment", "a comment\n"),
        (b"#!/bin/sh\necho '\xff' | wc -c", "2\n"),
    ],
)
def test_a_script_is_run_by_its_own_first_line_else_by_sh(tmp_path: Path, content: bytes, output: str) -> None:
    assert run(content, tmp_path) == output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#!/usr/local/bin/bash5\n", "names /usr/local/bin/bash5, which the runner's image does not have"),
        (b"#!/opt/bin/sh\n", r"names /opt/bin/sh, which the runner's image does not have; there is (/usr)?/bin/sh"),
        (b"#!\n", "names no program"),
    ],
)
def test_what_would_not_be_started_is_told_before(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(StepError, match=said):
        run(content, tmp_path)


def test_others_cannot_read_it(tmp_path: Path) -> None:
    programs.write_script(b"#!/bin/sh\n", tmp_path / "script")
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o700
