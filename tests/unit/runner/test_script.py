from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

from nestor.runner import script
from nestor.runner.errors import StepError
from nestor.steps import Step


def step(content: bytes) -> Step:
    return Step(name="a", type="custom", cmd=base64.b64encode(content).decode())


def run(content: bytes, folder: Path) -> str:
    command = script.write(script.decode(step(content)), folder / "script")
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


@pytest.mark.parametrize("content", [b"#!/bin/bash\r\necho a\r\n", b"set -x\r\nls\r\n"])
def test_windows_line_ends_are_told_in_words(content: bytes) -> None:
    with pytest.raises(StepError, match="CR"):
        script.decode(step(content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xef\xbb\xbf#!/bin/sh\n", "byte order mark"),
        (b"#!/usr/local/bin/bash5\n", "names /usr/local/bin/bash5, which the runner's image does not have"),
        (b"#!/opt/bin/sh\n", r"names /opt/bin/sh, which the runner's image does not have; there is (/usr)?/bin/sh"),
        (b"#!\n", "names no program"),
    ],
)
def test_what_would_not_be_started_is_told_before(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(StepError, match=said):
        run(content, tmp_path)


def test_what_is_no_base64_is_told() -> None:
    with pytest.raises(StepError, match="`cmd` must be the script in base64"):
        script.decode(Step(name="a", type="custom", cmd="!!!"))


def test_others_cannot_read_it(tmp_path: Path) -> None:
    script.write(b"#!/bin/sh\n", tmp_path / "script")
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o700
