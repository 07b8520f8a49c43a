"""Reads what `logger` wrote, with the options of `/getLogs`."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from devcluster.plugin.refusals import Refused
from nestor.api import times
from nestor.api.objects import Object

POLL_SECONDS = 0.1
MAX_SECONDS = 10**9


@dataclass(frozen=True)
class Options:
    """Which part of a log is wanted. 0 and None: no limit."""

    tail: int = 0
    bytes: int = 0
    timestamps: bool = False
    follow: bool = False
    previous: bool = False
    since: datetime.datetime | None = None


@dataclass(frozen=True)
class Entry:
    """One line, or the end of a log without a newline."""

    time: str
    text: bytes
    is_whole: bool = True


def read_options(given: Object, now: datetime.datetime) -> Options:
    """The options of a request. Raises `Refused` for impossible ones."""
    try:
        tail, limit, seconds = (int(given.get(name) or 0) for name in ("Tail", "Bytes", "SinceSeconds"))
        since = times.read(given["SinceTime"]) if given.get("SinceTime") else None
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(f"the options of the log cannot be read: {error}") from error
    if min(tail, limit, seconds) < 0:
        raise Refused("the options of the log must not be negative")
    if since is not None and since.tzinfo is None:
        raise Refused("SinceTime must have a time zone")
    since = now - datetime.timedelta(seconds=min(seconds, MAX_SECONDS)) if seconds else since
    timestamps, follow, previous = (bool(given.get(name)) for name in ("Timestamps", "Follow", "Previous"))
    return Options(tail, limit, timestamps, follow, previous, since)


def parse(content: bytes) -> list[Entry]:
    """The entries of a log file; a line that is still being written is left out."""
    found = []
    for line in content.split(b"\n")[:-1]:
        stamp, _, tag, text = line.split(b" ", 3)
        found.append(Entry(stamp.decode(), text, tag == b"F"))
    return found


def select(entries: Sequence[Entry], options: Options) -> list[Entry]:
    """The entries that the options choose: those since a time, and of these the last ones."""
    chosen = [entry for entry in entries if options.since is None or times.read(entry.time) >= options.since]
    return chosen[-options.tail :] if options.tail else chosen


def write(entries: Sequence[Entry], options: Options) -> bytes:
    """The text of entries."""
    parts = []
    for entry in entries:
        stamp = f"{entry.time} ".encode() if options.timestamps else b""
        parts.append(stamp + entry.text + (b"\n" if entry.is_whole else b""))
    return b"".join(parts)


async def stream(file: Path, options: Options, has_ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """A log's text as it comes, until the container has ended, or without `follow` as far as it goes."""
    offset, left, chosen = 0, options.bytes, options
    with contextlib.ExitStack() as opened:
        log: BinaryIO | None = None
        while True:
            # Asked before reading: all that a container wrote is in the file when it counts as ended.
            is_last = not options.follow or has_ended()
            # Kept open: the file goes with its pod, perhaps before the last lines are read.
            log = log or _open(file, opened)
            content = _read(log, offset) if log else b""
            offset += len(content)
            text = write(select(parse(content), chosen), options)
            text = text[:left] if options.bytes else text
            if text:
                yield text
            left -= len(text)
            if is_last or (options.bytes and left <= 0):
                return
            chosen = Options(since=options.since)
            await asyncio.sleep(POLL_SECONDS)


def _open(file: Path, opened: contextlib.ExitStack) -> BinaryIO | None:
    """None when there is no such file yet."""
    try:
        return opened.enter_context(file.open("rb"))
    except FileNotFoundError:
        return None


def _read(log: BinaryIO, offset: int) -> bytes:
    """What was written from an offset on, up to the last whole line."""
    log.seek(offset)
    content = log.read()
    return content[: content.rfind(b"\n") + 1]
