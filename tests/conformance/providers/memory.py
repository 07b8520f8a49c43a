"""The smallest conforming provider: it keeps pods in a dictionary. Unit tests use it in place of a real one."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

from nestor.pods.providers.base import Part, uid_of
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet
from tests.fakes.patches import merge_strategic

Object = dict[str, Any]


class MemoryProvider:
    """Keeps pods by name. `refusal` returns why a pod is rejected, or None; `asked` records every call, such as `delete web`."""

    logs = None
    streams = None

    def __init__(self, *pods: Object, refusal: Callable[[Object], str | None] = lambda _: None) -> None:
        self.pods: dict[str, Object] = {pod["metadata"]["name"]: pod for pod in pods}
        self.asked: list[str] = []
        self._refusal = refusal
        self._count = 0

    async def create(self, pod: Object) -> Object:
        """See `Provider.create`."""
        name = self._note("create", pod)
        await asyncio.sleep(0)
        if name in self.pods:
            if uid_of(self.pods[name]) != uid_of(pod):
                raise NotYet("an earlier pod with this name is still terminating")
            return copy.deepcopy(self.pods[name])
        if message := self._refusal(pod):
            raise InvalidInput(message)
        self.pods[name] = copy.deepcopy(pod)
        self.pods[name]["metadata"]["uid"] = f"{name}-{self._count}"
        self.touch(name)
        return copy.deepcopy(self.pods[name])

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        """See `Provider.delete`. A pod on a node keeps terminating until the test removes it from `pods`."""
        name = self._note("delete", pod)
        there, version = self.pods.get(name), pod["metadata"].get("resourceVersion")
        if there is None or there["metadata"]["uid"] != pod["metadata"]["uid"]:
            return
        meta = there["metadata"]
        if is_unchanged and meta["resourceVersion"] != version:
            return
        grace = there["spec"].get("terminationGracePeriodSeconds", 30) if grace_seconds is None else grace_seconds
        if grace and there["spec"].get("nodeName"):
            meta |= {
                "deletionTimestamp": "now",
                "deletionGracePeriodSeconds": min(grace, meta.get("deletionGracePeriodSeconds", grace)),
            }
            self.touch(name)
        else:
            del self.pods[name]

    async def get(self, pod: Object) -> Object:
        """See `Provider.get`."""
        return copy.deepcopy(self._find(self._note("get", pod), pod))

    async def list(self) -> list[Object]:
        """See `Provider.list`."""
        self.asked.append("list")
        return [copy.deepcopy(pod) for pod in self.pods.values() if uid_of(pod)]

    async def patch(self, pod: Object, patch: Object, part: Part = "") -> None:
        """See `Provider.patch`. List items are merged by `name` or `type`."""
        name = self._note(f"patch {part}".strip(), pod)
        changed = merge_strategic(self._find(name, pod), patch)
        if message := self._refusal(changed):
            raise InvalidInput(message)
        self.pods[name] = changed
        self.touch(name)

    def touch(self, name: str) -> None:
        """Give the pod a new `resourceVersion`, as any change does."""
        self._count += 1
        self.pods[name]["metadata"]["resourceVersion"] = str(self._count)

    def _note(self, what: str, pod: Object) -> str:
        name: str = pod["metadata"]["name"]
        self.asked.append(f"{what} {name}")
        return name

    def _find(self, name: str, pod: Object) -> Object:
        found = self.pods.get(name)
        if found is None or found["metadata"]["uid"] != pod["metadata"]["uid"]:
            raise NotFound(f"pod {name} is gone")
        return found
