"""Forks a process of Nestor for each launcher that asks: `python -m tests.integration.warm.server FD-OF-A-LISTENING-SOCKET`."""

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from nestor.__main__ import main as run_nestor

IMPORTED = ("nestor.clients.cli.main", "nestor.apps.runner.main")
LARGEST_REQUEST = 1 << 18
PR_SET_PDEATHSIG = 1
Request = dict[str, Any]


class Server:
    """Waits for launchers, for their signals, and for the ends of what was forked."""

    def __init__(self, door: socket.socket) -> None:
        self._selector = selectors.DefaultSelector()
        self._selector.register(door, selectors.EVENT_READ, functools.partial(self._greet, door))

    def serve(self) -> Request:
        """For ever in the server; in each process that it forks, returns what that is to be."""
        while True:
            for key, _ in self._selector.select():
                if self._selector.get_map().get(key.fd) is not key:
                    continue  # what came just before has ended it
                request: Request | None = key.data()
                if request is not None:
                    return request

    def _greet(self, door: socket.socket) -> None:
        channel, _ = door.accept()
        self._selector.register(channel, selectors.EVENT_READ, functools.partial(self._fork, channel))

    def _fork(self, channel: socket.socket) -> Request | None:
        text, files, _, _ = socket.recv_fds(channel, LARGEST_REQUEST, 3)
        child = os.fork()
        if child == 0:
            self._forget()
            request: Request = json.loads(text)
            return request | {"files": files}
        for file in files:
            os.close(file)
        ended = os.pidfd_open(child)
        self._selector.modify(channel, selectors.EVENT_READ, functools.partial(self._signal, channel, ended))
        self._selector.register(ended, selectors.EVENT_READ, functools.partial(self._report, channel, ended, child))
        return None

    def _signal(self, channel: socket.socket, process: int) -> None:
        """Pass on what came to the launcher; a launcher that is gone was killed."""
        number = channel.recv(1)
        signal.pidfd_send_signal(process, number[0] if number else signal.SIGKILL)
        if not number:
            self._selector.unregister(channel)

    def _report(self, channel: socket.socket, process: int, child: int) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self._selector.unregister(process)
        os.close(process)
        if channel in self._selector.get_map():
            self._selector.unregister(channel)
            with contextlib.suppress(BrokenPipeError):  # the launcher was killed at the same moment
                channel.send(str(code).encode())
        channel.close()

    def _forget(self) -> None:
        """What is the server's own, in a process that it has forked."""
        for key in self._selector.get_map().values():
            os.close(key.fd)
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.detach()
        self._selector.close()


def become(request: Request) -> None:
    """Take the launcher's arguments, environment, folder, files and signals; end when the server does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for target, file in enumerate(request["files"]):
        os.dup2(file, target)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    time.tzset()
    sys.argv = ["nestor", *request["arguments"]]


if __name__ == "__main__":
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    become(Server(socket.socket(fileno=int(sys.argv[1]))).serve())
    run_nestor()
