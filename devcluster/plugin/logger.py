"""Writes a container's output to a file, one line each with its time. Started by containerd's shim, alone and without Nestor.

File descriptors 3 and 4 are the container's output and error output; closing 5 says that we are ready. The first argument is the
folder of the logs. A line in it: time, stream, `F` or `P` (no newline follows), text.
"""

import os
import select
import signal
import sys
import time
from pathlib import Path

STREAMS = {3: b"stdout", 4: b"stderr"}
READY = 5
MAX_BYTES = 64 * 1024**2
"""What of a container's output is kept; the rest is read and dropped."""
MAX_LINE = 16 * 1024


def main(file: Path) -> None:
    """Copy until both streams have ended."""
    # The end of the container is the end of its streams; whoever asks us to end before would lose its last lines.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rest = dict.fromkeys(STREAMS, b"")
    with file.open("ab", buffering=0) as log:
        os.close(READY)
        while rest:
            for stream in select.select(list(rest), [], [])[0]:
                data = os.read(stream, 65536)
                *lines, last = (rest[stream] + data).split(b"\n")
                entries = [entry(stream, line, b"F") for line in lines]
                if last and (not data or len(last) > MAX_LINE):
                    entries.append(entry(stream, last, b"P"))
                    last = b""
                rest[stream] = last
                if log.tell() < MAX_BYTES:
                    log.write(b"".join(entries))
                if not data:
                    del rest[stream]


def entry(stream: int, text: bytes, tag: bytes) -> bytes:
    """One line of the file."""
    seconds, nanoseconds = divmod(time.time_ns(), 10**9)
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds:09}Z".encode()
    return b" ".join((stamp, STREAMS[stream], tag, text)) + b"\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]) / f"{os.environ['CONTAINER_ID']}.log")
