"""A backend in memory: runs pods as `nestor.pods.providers.base.Backend` promises, unless a test wants it to fail."""

import asyncio
import builtins
import copy
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from nestor.api.objects import Object
from nestor.pods.providers.base import Call, Connection, Inputs, Options, Refreshes, Shape, Streams, Updates
from nestor.pods.providers.errors import InvalidInput, NotFound, Unreachable

STARTED = "2030-01-01T00:00:00Z"


class MemoryBackend:
    """Pods by UID. `asked` notes every call; `calls` counts them by name.

    `fault` may answer a call with an error before anything is done, `lost` afterwards.
    """

    streams: Streams | None = None
    refreshes: Refreshes | None = None
    updates: Updates | None = None

    def __init__(self, *, can_list: bool = True) -> None:
        self.pods: dict[str, Object] = {}
        self.starts: Counter[str] = Counter()
        self.asked: list[str] = []
        self.calls: Counter[str] = Counter()
        self.inputs: dict[str, Inputs] = {}
        self.shapes: list[Shape] | None = None
        self.is_down = False
        self.ends_at_once = True
        """Deleted pods are gone at once; otherwise, when the test says so (`finish`)."""
        self.fault: Callable[[str, Object], Exception | None] = lambda _, __: None
        self.lost: Callable[[str, Object], Exception | None] = lambda _, __: None
        self.logs = self
        self.lists = self if can_list else None

    async def create(self, pod: Object, inputs: Inputs | None = None) -> Object:
        """See `Backend.create`."""
        await self.enter("create", pod)
        uid = pod["metadata"]["uid"]
        if pod["spec"].get("hostNetwork"):
            raise InvalidInput("spec.hostNetwork: not possible here")
        if uid not in self.pods:
            self.starts[uid] += 1
            self.inputs[uid] = inputs or Inputs()
            self.pods[uid] = copy.deepcopy(pod) | {"status": _status(pod, {"waiting": {"reason": "Queued"}}, "Pending")}
        self._leave("create", pod)
        return copy.deepcopy(pod)

    async def delete(self, pod: Object, *, grace_seconds: int | None = None) -> None:
        """See `Backend.delete`."""
        await self.enter("delete", pod)
        there = self.pods.get(pod["metadata"]["uid"])
        if there is not None:
            there["metadata"]["deletionTimestamp"] = STARTED
            if self.ends_at_once or grace_seconds == 0:
                del self.pods[pod["metadata"]["uid"]]
        self._leave("delete", pod)

    async def get(self, pod: Object) -> Object:
        """See `Backend.get`."""
        await self.enter("get", pod)
        there = self.pods.get(pod["metadata"]["uid"])
        if there is None:
            raise NotFound("no such pod")
        return copy.deepcopy(pod | {"status": there["status"]})

    async def statuses(self, pods: Sequence[Object]) -> dict[str, Object]:
        """See `Backend.statuses`."""
        await self.enter("statuses", pods[0])
        found = [pod["metadata"]["uid"] for pod in pods if pod["metadata"]["uid"] in self.pods]
        return {uid: copy.deepcopy(self.pods[uid]["status"]) for uid in found}

    async def list(self) -> builtins.list[Object]:
        """See `Lists.list`."""
        await self.enter("list", {"metadata": {"name": ""}})
        return [copy.deepcopy(pod) for pod in self.pods.values()]

    async def discover(self) -> builtins.list[Shape] | None:
        """See `Backend.discover`."""
        await self.enter("discover", {"metadata": {"name": ""}})
        return self.shapes

    async def check(self) -> None:
        """See `Backend.check`."""
        await self.enter("check", {"metadata": {"name": ""}})

    async def close(self) -> None:
        """See `Backend.close`."""

    @asynccontextmanager
    async def open_log(self, pod: Object, options: Options) -> AsyncIterator[AsyncIterator[bytes]]:
        """The options, as a log."""
        await self.enter("log", pod)
        if pod["metadata"]["uid"] not in self.pods:
            raise NotFound("no such pod")

        async def read() -> AsyncIterator[bytes]:
            yield "&".join(f"{name}={value}" for name, value in options).encode() + b"\n"

        yield read()

    def run(self, uid: str) -> None:
        """Have the pod's containers run."""
        self.pods[uid]["status"] = _status(self.pods[uid], {"running": {"startedAt": STARTED}}, "Running")

    def end(self, uid: str, code: int = 0) -> None:
        """Have the pod's containers end."""
        state = {"terminated": {"exitCode": code, "startedAt": STARTED, "finishedAt": STARTED}}
        self.pods[uid]["status"] = _status(self.pods[uid], state, "Failed" if code else "Succeeded")

    def finish(self, uid: str) -> None:
        """Have the pod gone."""
        self.pods.pop(uid, None)

    def count(self, call: str) -> int:
        """How often this was asked, such as `create`."""
        return self.calls[call]

    async def enter(self, call: str, pod: Object) -> None:
        """Note the call, and fail as the test wants it."""
        self.asked.append(f"{call} {pod['metadata']['name']}".strip())
        self.calls[call] += 1
        await asyncio.sleep(0)
        if self.is_down:
            raise Unreachable("connection refused")
        if (error := self.fault(call, pod)) is not None:
            raise error

    def _leave(self, call: str, pod: Object) -> None:
        if (error := self.lost(call, pod)) is not None:
            raise error


class MemoryUpdates:
    """Changes pods of a backend in memory: as a whole, unless `refuse` says why not."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.refuse: Callable[[Object], builtins.list[str]] = lambda _: []

    async def update(self, pod: Object) -> builtins.list[str]:
        """See `Updates.update`."""
        await self._backend.enter("update", pod)
        there = self._backend.pods.get(pod["metadata"]["uid"])
        if there is None:
            raise NotFound("no such pod")
        refused = self.refuse(pod)
        if not refused:
            there |= copy.deepcopy({"metadata": pod["metadata"], "spec": pod["spec"]})
        return refused


class Echo:
    """Streams that return what they are sent, and note what was asked for."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    @asynccontextmanager
    async def open_stream(self, _: Object, call: Call) -> AsyncIterator[Connection]:
        """See `Streams.open_stream`."""
        self.calls.append(call)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(1024):
                writer.write(data)
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            wanted = dict(call.headers)
            lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", f"Upgrade: {wanted['upgrade']}"]
            lines += [f"X-Stream-Protocol-Version: {wanted.get('x-stream-protocol-version', '')}", "", ""]
            try:
                yield Connection("\r\n".join(lines).encode(), reader, writer)
            finally:
                writer.close()


def _status(pod: Object, state: Object, phase: str) -> Object:
    is_running = "running" in state
    items = [
        {
            "name": item["name"],
            "image": item.get("image", ""),
            "imageID": "",
            "restartCount": 0,
            "ready": is_running,
            "started": is_running,
            "state": state,
            "lastState": {},
        }
        for item in pod["spec"]["containers"]
    ]
    return {"phase": phase, "containerStatuses": items}
