"""The AppDef of an app image, read as a process in the image would see it: links are followed within it, never out of it."""

import contextlib
import errno
import json
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestor.api.contracts.reader import OUTPUT_LIMIT, Exit
from nestor.apps import reader
from nestor.apps.reader import follow
from nestor.operator.admission import reader_pod as appreader

APPDEF = {"name": "Hällo", "commands": {"Run": {"nested_kubernetes": {"templates": []}}}, "x": [1, 2.5, None, True]}


def build_image(root: Path, content: bytes | str | None) -> Path:
    folder = root / "etc/NAE"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "AppDef.json").write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def read(image: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[int, str]:
    code = reader.main([f"--image={image}"])
    return code, capfdbinary.readouterr().out.decode()


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf", b"\r\n\t "], ids=["plain", "byte order mark", "white space"])
def test_an_appdef_is_printed_as_one_line(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], prefix: bytes) -> None:
    image = build_image(tmp_path, prefix + json.dumps(APPDEF, indent=4, ensure_ascii=False).replace("\n", "\r\n").encode())
    code, said = read(image, capfdbinary)
    assert code == Exit.READ
    assert said.count("\n") == 1
    assert json.loads(said) == APPDEF


def test_the_icon_stays_behind_and_does_not_count(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    icon = {"type": "image/png", "data": "A" * 2 * OUTPUT_LIMIT}
    code, said = read(build_image(tmp_path, json.dumps(APPDEF | {"image": icon})), capfdbinary)
    assert code == Exit.READ
    assert json.loads(said) == APPDEF | {"image": {"type": "image/png", "data": ""}}


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, Exit.MISSING, "the image has no file /etc/NAE/AppDef.json"),
        ("", Exit.INVALID, "is not JSON: line 1, column 1: Expecting value"),
        ('{"commands": {\n  "Run": tru}}', Exit.INVALID, "is not JSON: line 2, column 10: Expecting value"),
        ('{"a": 1} trailing', Exit.INVALID, "line 1, column 10: Extra data"),
        (b'{"a": "\xff"}', Exit.INVALID, "is not JSON: byte 7 is not UTF-8"),
        (b'{"a": "\x00"}', Exit.INVALID, "line 1, column 8: Invalid control character"),
        ('["commands"]', Exit.INVALID, "must be a JSON object with `commands`"),
        ('{"a": NaN}', Exit.INVALID, "it contains NaN, which is not valid JSON"),
        ('{"a": 1e999}', Exit.INVALID, "`AppDef.a` must be a finite number"),
        ('{"a": {"b": 9223372036854775808}}', Exit.INVALID, "`AppDef.a.b` must be a number of at most 63 bits"),
        ('{"a": [' + "0," * 100_000 + "0]}", Exit.INVALID, "`AppDef` must not contain more than 100000 values"),
        ('{"a": ' + "9" * 5000 + "}", Exit.INVALID, "is not JSON: "),
        ('{"a": "\\ud800"}', Exit.INVALID, "`AppDef.a` must not contain half a character"),
        ('{"a":' + "[" * 70 + "]" * 70 + "}", Exit.INVALID, "must not be nested deeper than 64 levels"),
        ('{"a":' + "[" * 90_000 + "]" * 90_000 + "}", Exit.INVALID, "is nested deeper than 64 levels"),
        (json.dumps({"a": "x" * OUTPUT_LIMIT}), Exit.TOO_BIG, f"at most {OUTPUT_LIMIT} are allowed"),
        (" " * reader.FILE_LIMIT + "{}", Exit.TOO_BIG, f"is larger than {reader.FILE_LIMIT} bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_fault_is_a_sentence_and_a_code(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], content: bytes | str | None, code: int, message: str
) -> None:
    found, said = read(build_image(tmp_path, content), capfdbinary)
    assert found == code
    assert message in said
    assert len(said) < 300


@settings(max_examples=50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_the_reader_prints_the_operator_reads(tmp_path: Path, value: Any) -> None:
    """Else the operator would have it read again and again."""
    file = tmp_path / reader.PATH
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"a": value}))
    with contextlib.suppress(reader.Fault):
        assert appreader.parse_output(reader.read_appdef(tmp_path) + b"\n") == {"a": value}


def test_an_image_that_is_not_mounted_is_no_missing_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code, said = read(tmp_path / "app", capfdbinary)
    assert code == Exit.NO_VOLUME
    assert "the host cluster has no image volumes" in said


def test_a_file_where_a_folder_should_be_is_a_missing_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "etc").write_text("x")
    assert read(tmp_path, capfdbinary)[0] == Exit.MISSING


def test_a_pipe_does_not_hang(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    image = build_image(tmp_path, None)
    os.mkfifo(image / reader.PATH)
    assert read(image, capfdbinary) == (Exit.UNREADABLE, "/etc/NAE/AppDef.json of the image is not a regular file\n")


def test_what_our_user_may_not_read_is_told_with_the_remedy(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:  # tests may run as root, who may read all
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(reader, "follow", refuse)
    code, said = read(build_image(tmp_path, "{}"), capfdbinary)
    assert code == Exit.UNREADABLE
    assert "`RUN chmod a+rX /etc/NAE /etc/NAE/AppDef.json`" in said


def test_an_unforeseen_error_is_no_fault_of_the_image(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_drop_icon", lambda content: 1 / 0)
    code, said = read(build_image(tmp_path, "{}"), capfdbinary)
    assert code == Exit.CRASHED
    assert "ZeroDivisionError" in said


@pytest.mark.parametrize(
    ("links", "path", "expected"),
    [
        ({}, "etc/NAE/a", "etc/NAE/a"),
        ({"etc/NAE": "/opt/nae"}, "etc/NAE/a", "opt/nae/a"),
        ({"etc/NAE": "../opt/./nae//"}, "etc/NAE/a", "opt/nae/a"),
        ({"etc/NAE/a": "b", "etc/NAE/b": "/c"}, "etc/NAE/a", "c"),
        ({"etc/NAE/a": "/../../../etc/passwd"}, "etc/NAE/a", "etc/passwd"),
    ],
)
def test_links_stay_inside(tmp_path: Path, links: dict[str, str], path: str, expected: str) -> None:
    for name, target in links.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(target)
    assert follow(tmp_path, path) == tmp_path / expected


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as raised:
        follow(tmp_path, "a/c")
    assert raised.value.errno == errno.ELOOP
