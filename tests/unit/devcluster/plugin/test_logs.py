"""Logs, from a container's output to what is read of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devcluster.plugin import logs
from devcluster.plugin.logs import Options
from devcluster.plugin.refusals import Refused
from nestor.api.objects import Object

NOW = datetime(2026, 1, 1, 10, 0, 30, tzinfo=UTC)
LINES = b"".join(b"2026-01-01T10:00:%02d.000000001Z stdout F line %d\n" % (number * 10, number) for number in range(3))
WHOLE = LINES + b"2026-01-01T10:00:21.000000001Z stderr P end\n"


def read(given: Object, content: bytes = WHOLE) -> str:
    """The text that is read with the options of a request."""
    options = logs.read_options(given, NOW)
    return logs.write(logs.select(logs.parse(content), options), options).decode()


CASES: list[tuple[Object, str]] = [
    ({}, "line 0\nline 1\nline 2\nend"),
    ({"Tail": 0, "Bytes": 0, "SinceSeconds": 0, "SinceTime": ""}, "line 0\nline 1\nline 2\nend"),
    ({"Tail": 2}, "line 2\nend"),
    ({"Tail": 9}, "line 0\nline 1\nline 2\nend"),
    ({"SinceSeconds": 20}, "line 1\nline 2\nend"),
    ({"SinceTime": "2026-01-01T10:00:15Z"}, "line 2\nend"),
    ({"SinceTime": "2026-01-01T11:00:15+01:00", "Tail": 1}, "end"),
    ({"Tail": 2, "Timestamps": True}, "2026-01-01T10:00:20.000000001Z line 2\n2026-01-01T10:00:21.000000001Z end"),
]


@pytest.mark.parametrize(("given", "text"), CASES)
def test_which_part_is_read(given: Object, text: str) -> None:
    assert read(given) == text


@pytest.mark.parametrize("given", [{"Tail": "many"}, {"Tail": -1}, {"SinceTime": "noon"}, {"SinceTime": "2026-01-01T10:00:15"}])
def test_impossible_options_are_refused(given: Object) -> None:
    with pytest.raises(Refused):
        logs.read_options(given, NOW)


async def collect(file: Path, options: Options) -> str:
    return b"".join([part async for part in logs.stream(file, options, lambda: True)]).decode()


@pytest.mark.parametrize(("limit", "text"), [(0, "line 0\nline 1\nline 2\nend"), (8, "line 0\nl")])
async def test_a_log_is_read_up_to_a_number_of_bytes(tmp_path: Path, limit: int, text: str) -> None:
    (tmp_path / "log").write_bytes(WHOLE)
    assert await collect(tmp_path / "log", Options(bytes=limit)) == text


@pytest.mark.parametrize("is_removed", [False, True], ids=["kept", "removed"])
async def test_a_followed_log_comes_as_it_is_written_until_the_container_has_ended(tmp_path: Path, is_removed: bool) -> None:
    """Also the last lines of one whose pod, and file with it, has gone before they are read."""
    file, parts, has_ended = tmp_path / "log", asyncio.Queue[bytes](), False
    first, rest = LINES.split(b"\n", 1)
    file.write_bytes(first + b"\n" + rest[:10])

    async def follow() -> None:
        async for part in logs.stream(file, Options(tail=1, follow=True), lambda: has_ended):
            parts.put_nowait(part)

    async with asyncio.timeout(10):
        following = asyncio.create_task(follow())
        assert await parts.get() == b"line 0\n"
        with file.open("ab") as log:
            log.write(rest[10:])
        if is_removed:
            file.unlink()
        assert await parts.get() == b"line 1\nline 2\n"
        has_ended = True
        await following
