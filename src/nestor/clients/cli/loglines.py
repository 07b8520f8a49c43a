"""The lines of a pod's log, and which of them are wanted."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from nestor.kube import Api, kinds


@dataclass(frozen=True)
class Wanted:
    follow: bool = False
    tail: int | None = None
    container: str | None = None

    @property
    def query(self) -> dict[str, str]:
        pairs = {
            "follow": "true" if self.follow else None,
            "tailLines": None if self.tail is None else str(self.tail),
            "container": self.container,
        }
        return {key: value for key, value in pairs.items() if value is not None}


async def stream(api: Api, pod: str, namespace: str, wanted: Wanted) -> AsyncGenerator[str, None]:
    """The lines of a pod's log, as they come. Raises `ApiError`. Close it (`aclosing`) unless it is read to its end."""
    path = kinds.POD.path(namespace, pod, "log")
    async with api.stream(path, wanted.query) as response:
        pending = b""
        async for chunk in response.content.iter_any():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
        if pending:
            yield pending.decode(errors="replace")


async def pick_lines(lines: AsyncGenerator[str, None], step: str | None) -> AsyncGenerator[str, None]:
    """The lines of one step, which begin with its name; all lines for None. Closes `lines` when it is closed."""
    async with aclosing(lines):
        async for line in lines:
            if step is None or line.startswith(f"[{step}] "):
                yield line
