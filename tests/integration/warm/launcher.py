"""Stands for a process of the server: `launcher.py ADDRESS ARGUMENT…`. Ends as that does; when this one is killed, so is that."""

import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Ask for a process with what this one has, and await its end."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(sys.argv[1])
    ignored = [number for number in FORWARDED if signal.getsignal(number) is signal.SIG_IGN]
    request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd(), "ignored": ignored}
    socket.send_fds(channel, [json.dumps(request).encode()], [0, 1, 2])
    for number in set(FORWARDED).difference(ignored):
        signal.signal(number, lambda number, _: channel.send(bytes([number])))
    code = int(channel.recv(16) or b"-9")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code in FORWARDED else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
