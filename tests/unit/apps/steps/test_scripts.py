"""Scripts are base64, as a shell makes it, of something that can be run."""

from __future__ import annotations

import base64
import textwrap
from typing import Any

import pytest

from nestor.apps.steps import sources
from tests.unit.apps.steps.builders import encode, faults_of, read, script

LONG = "#!/bin/bash\n" + "echo hello\n" * 20
TEXT = encode(LONG)


@pytest.mark.parametrize(
    "written", [TEXT, "\n".join(textwrap.wrap(TEXT, 76)) + "\n", "\r\n".join(textwrap.wrap(TEXT, 76)), f"  {TEXT}\t"]
)
def test_line_breaks_that_base64_makes_are_taken_out(written: str) -> None:
    step = read(script(cmd=written))
    assert step.cmd == TEXT
    assert sources.decode_script(step.cmd) == LONG.encode()


@pytest.mark.parametrize("text", ["#!/bin/sh\ntrue", "echo no interpreter named", "#!/usr/bin/env python3\nx()\n", "\x7fELF"])
def test_a_script_needs_no_interpreter_line(text: str) -> None:
    assert read(script(text)).cmd == encode(text)


@pytest.mark.parametrize("cmd", [None, "", " ", 7, ["x"], {}])
def test_a_script_must_be_given(cmd: Any) -> None:
    assert faults_of(script(cmd=cmd)) == [
        "`templates[0].cmd` must be set: the script in base64, as `base64 -w 0 < script.sh` prints it"
    ]


@pytest.mark.parametrize(
    "cmd", ["#!/bin/bash\nhelm install x", "echo hi", "abc", "ab=c", "====", "a===", "YWJj-_==", "YWJjZA", "YWJjZA=", "äöü="]
)
def test_what_is_not_base64_is_refused_with_the_command_that_makes_it(cmd: str) -> None:
    assert faults_of(script(cmd=cmd)) == [
        "`templates[0].cmd` must be the script in base64, as `base64 -w 0 < script.sh` prints it"
    ]


@pytest.mark.parametrize("text", ["\n", "  \n\t\n"])
def test_an_empty_script_is_refused(text: str) -> None:
    assert faults_of(script(text)) == ["`templates[0].cmd` must not be an empty script"]


def test_the_size_of_a_script_is_limited() -> None:
    assert read(script("#" * 256 * 1024))
    for size in (256 * 1024 + 1, 2**20):
        assert faults_of(script("#" * size)) == [
            "`templates[0].cmd` must be a script of at most 256 KiB: put larger ones into /templates of the image"
        ]


@pytest.mark.parametrize("text", ["#!/bin/bash\r\necho hi\r\n", "echo hi\r\nls\r\n"])
def test_windows_line_ends_are_refused_because_nothing_would_start(text: str) -> None:
    assert faults_of(script(text)) == [
        "`templates[0].cmd` must not be a script with Windows line endings (CRLF), which become part of names: use `dos2unix`"
    ]


def test_a_byte_order_mark_is_refused_because_it_hides_the_interpreter() -> None:
    assert faults_of(script("\ufeff#!/bin/sh\n")) == [
        "`templates[0].cmd` must not be a script with a byte order mark, which hides its `#!` line: save it as UTF-8 without one"
    ]


def test_bytes_that_are_no_text_are_a_script_all_the_same() -> None:
    assert sources.decode_script(sources.normalize_script(base64.b64encode(bytes(range(256))).decode())) == bytes(range(256))
