"""Which URLs and scripts an AppDef may name."""

import base64
import textwrap
from typing import Any

import pytest

from nestor.apps.steps import Remote, sources
from tests.unit.apps.steps.builders import chart, encode, faults_of, read, script, template

URL = "https://raw.example.com/app/install.yaml"


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "http://example.com/a.yml",
        "HTTPS://Example.COM/a.yml",
        "https://example.com:8443/a?b=c#d",
        "https://10.0.0.1/a",
        "https://[2001:db8::1]:8443/a",
        "https://example.com./a",
        "https://a_b.example.com/%20x",
    ],
)
def test_urls_are_kept_as_they_are(url: str) -> None:
    step = read(template(path=url, format="url"))
    assert (step.path, step.format, step.sha256) == (url, "url", None)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        (None, "must be set: the URL of the template"),
        (7, "must be a string, not 7: put it in quotes"),
        ("web.yml", "'web.yml' must be a URL that starts with https:// or http://"),
        ("ftp://example.com/a", "'ftp://example.com/a' must be a URL that starts with https:// or http://"),
        ("oci://example.com/a", "'oci://example.com/a' must be a URL that starts with https:// or http://"),
        ("https:///a", "'https:///a' must name a host"),
        ("https://a..b/a", "'https://a..b/a' must name a host"),
        ("https://[fe80::1%25eth0]/a", "'https://[fe80::1%25eth0]/a' must name a host"),
        ("https://example.com:0/a", "'https://example.com:0/a' must name a host"),
        ("https://example.com:99999/a", "must be a URL such as 'https://example.com/install.yaml'"),
        ("https://user:secret@example.com/a", "must not contain a user name or password: plans are not kept secret"),
        ("https://example.com\\@evil.test/a", "must be a URL of ASCII characters without spaces; encode all others as %XX"),
        ("https://exämple.com/a", "must be a URL of ASCII characters without spaces; encode all others as %XX"),
        ("https://example.com/a\nb", "must be at most 2048 printable characters on one line"),
        ("https://example.com/" + "a" * 2048, "must be at most 2048 printable characters on one line"),
    ],
)
def test_faults_of_a_url_are_named(url: object, fault: str) -> None:
    [found] = faults_of(template(path=url, format="url"))
    assert found.startswith("`templates[0].path` ")
    assert found.endswith(fault)
    assert "secret@" not in found


def test_a_long_label_costs_no_time() -> None:
    assert sources.find_url_fault(f"https://{'a' * 2000}!/a", Remote()) is not None


@pytest.mark.parametrize(
    ("host", "patterns", "allowed"),
    [
        ("example.com", [], True),
        ("example.com", ["example.com"], True),
        ("example.com.", ["example.com"], True),
        ("a.example.com", ["example.com"], False),
        ("a.example.com", ["*.example.com"], True),
        ("a.b.example.com", ["*.example.com"], True),
        ("example.com", ["*.example.com"], False),
        (".example.com", ["*.example.com"], False),
        ("badexample.com", ["*.example.com"], False),
        ("example.com.evil.test", ["example.com", "*.example.com"], False),
    ],
)
def test_hosts_are_allowed_by_name_or_as_those_below_one(host: str, patterns: list[str], allowed: bool) -> None:
    assert sources.is_allowed(host, Remote(allowed_hosts=tuple(patterns))) is allowed


@pytest.mark.parametrize(
    ("step", "key", "host"),
    [
        (template(path=URL, format="url"), "path", "raw.example.com"),
        (chart(path=None, chart="oci://x.test/web"), "chart", "x.test"),
        (chart(path=None, chart="web", repo="https://x.test"), "repo", "x.test"),
    ],
)
def test_what_the_class_forbids_names_its_rule(step: Any, key: str, host: str) -> None:
    assert faults_of(step, remote=Remote(allowed_hosts=("*.corp.test", "git.test"))) == [
        f"`templates[0].{key}` must be at a host that the job's class allows (`templateHosts`: '*.corp.test', 'git.test'), "
        f"not '{host}'"
    ]
    assert faults_of(step, remote=Remote(enabled=False)) == [
        f"`templates[0].{key}` may not be remote: the job's class does not allow it (`templateHosts`)"
    ]
    assert read(step, remote=Remote(allowed_hosts=(host,))) == read(step)
    assert read(chart(), remote=Remote(enabled=False)) == read(chart())


@pytest.mark.parametrize("written", ["f" * 64, "F" * 64, "sha256:" + "f" * 64, f" {'f' * 64} "])
def test_a_checksum_is_sixty_four_digits(written: str) -> None:
    assert read(template(path=URL, format="url", sha256=written)).sha256 == "f" * 64


@pytest.mark.parametrize("written", ["f" * 63, "g" * 64, 7, "md5:" + "f" * 64, []])
def test_another_checksum_is_refused(written: object) -> None:
    [fault] = faults_of(template(path=URL, format="url", sha256=written))
    assert fault.startswith("`templates[0].sha256` must be a ")


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


UNSET: list[Any] = [None, "", " ", 7, ["x"], {}]
BASE64 = "the script in base64, as `base64 -w 0 < script.sh` prints it"
CRLF = "not be a script with Windows line endings (CRLF), which become part of names: use `dos2unix`"
MARK = "not be a script with a byte order mark, which hides its `#!` line: save it as UTF-8 without one"
NO_BASE64 = "#!/bin/bash\nhelm install x¦echo hi¦abc¦ab=c¦====¦a===¦YWJj-_==¦YWJjZA¦YWJjZA=¦äöü="


@pytest.mark.parametrize(
    ("cmd", "fault"),
    [
        *((cmd, f"be set: {BASE64}") for cmd in UNSET),
        *((cmd, f"be {BASE64}") for cmd in NO_BASE64.split("¦")),
        *((encode(text), "not be an empty script") for text in ("\n", "  \n\t\n")),
        (encode("#" * (256 * 1024 + 1)), "be a script of at most 256 KiB: put larger ones into /templates of the image"),
        *((encode(text), CRLF) for text in ("#!/bin/bash\r\necho hi\r\n", "echo hi\r\nls\r\n")),
        (encode("\ufeff#!/bin/sh\n"), MARK),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_script_is_refused_with_what_to_do(cmd: Any, fault: str) -> None:
    assert faults_of(script(cmd=cmd)) == [f"`templates[0].cmd` must {fault}"]


def test_a_script_may_be_as_large_as_is_said() -> None:
    assert read(script("#" * 256 * 1024))


def test_bytes_that_are_no_text_are_a_script_all_the_same() -> None:
    assert sources.decode_script(sources.normalize_script(base64.b64encode(bytes(range(256))).decode())) == bytes(range(256))
