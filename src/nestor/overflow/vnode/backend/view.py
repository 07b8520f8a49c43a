"""The OverflowBackend that this process serves: what it asks for, and what this process writes into its status."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.objects import Object, conditions_of, spec_of, status_of, without_managers
from nestor.api.overflowbackend import SHAPE_LIMIT, OverflowBackendSpec, OverflowBackendStatus, Shape, UnconfirmedPod
from nestor.api.quantities import parse_quantity
from nestor.api.times import timestamp
from nestor.kube import Api, ApiError, Change, Informer, kinds
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.restart import Restart
from nestor.pods.providers import base
from nestor.pods.providers.errors import cut

log = logging.getLogger(__name__)

DISCOVER_SECONDS = 60.0
_FIRST_SECONDS = 2.0
"""Until there are shapes, nobody has a node."""
_PROCESS = {"Interlink": ("type", "interlink", "kubernetes"), "Kubernetes": ("type", "interlink", "kubernetes", "shapes")}
"""Fields of the specification that a process is set up with: in a cluster, shapes that an admin has written are machines."""


@dataclass(frozen=True)
class NodeRef:
    name: str
    shape: str


class BackendView:
    """The newest OverflowBackend, and the shapes. `on_change` handlers are called when either has changed."""

    def __init__(self, api: Api, body: Object, health: Health) -> None:
        self._api = api
        self._health = health
        self._body = body
        self._handlers: list[Callable[[], None]] = []
        self._wake = asyncio.Event()
        self._problem: Restart | None = None
        self._unheard = ""
        """What of the last answer about what the backend has was of no use."""
        found = OverflowBackendStatus.model_validate(status_of(body))
        self.shapes: list[Shape] = list(found.shapes or [])
        self.unconfirmed: list[UnconfirmedPod] = list(found.unconfirmed_pods)
        """Pods that should have ended; at first, those that the last process has noted."""
        self.find_lacking: Callable[[], str] = lambda: ""
        """Says which certificates the cluster does not issue; empty if it does."""
        self._writing = asyncio.Lock()
        self.informer = Informer(api, kinds.OVERFLOW_BACKEND, fields=f"metadata.name={self.name}", trim=without_managers)
        self.informer.on_change(self._take)
        health.on_change(self._wake.set)

    @property
    def name(self) -> str:
        name: str = self._body["metadata"]["name"]
        return name

    @property
    def spec(self) -> OverflowBackendSpec:
        return OverflowBackendSpec.model_validate(spec_of(self._body))

    @property
    def nodes(self) -> frozenset[NodeRef]:
        """The nodes that the operator has made for this backend, also those that it is removing."""
        found = OverflowBackendStatus.model_validate(status_of(self._body)).nodes
        return frozenset(NodeRef(item.name, item.shape) for item in found if item.state != "Refused")

    def on_change(self, handler: Callable[[], None]) -> None:
        self._handlers.append(handler)

    def look(self) -> None:
        """What is written may have changed."""
        self._wake.set()

    async def keep(self, backend: base.Backend) -> None:
        """Discover the shapes, and write them and whether the backend answers, until cancelled.

        Raises `Restart` once the backend is another one than this process was set up for.
        """
        while True:
            self._wake.clear()
            if self._problem is not None:
                raise self._problem
            await self._discover(backend)
            try:
                await self.write()
            except ApiError as error:
                log.warning("status of OverflowBackend '%s' not written: %s", self.name, error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DISCOVER_SECONDS if self.shapes else _FIRST_SECONDS):
                    await self._wake.wait()

    async def _discover(self, backend: base.Backend) -> None:
        given = self.spec.shapes
        if given is not None:
            self._unheard = ""
            self._set_shapes(list(given))
            return
        try:
            with self._health.noting():
                found = await backend.discover()
        except Exception as error:
            log.info("shapes were not discovered: %s", describe(error))
            self._unheard = describe(error)
            return
        shapes, faults = read_discovered(found or [], self.shapes)
        self._unheard = cut("; ".join(faults))
        if found is not None:
            self._set_shapes(shapes)

    def _set_shapes(self, found: list[Shape]) -> None:
        if found != self.shapes:
            self.shapes = found
            self._tell()

    async def write(self) -> None:
        """Write our part of the status if it differs. Raises `ApiError`."""
        async with self._writing:  # what was written last must be the newest
            found = self._find_reachable()
            if lacking := self.find_lacking():
                found.append(conditions.Condition(conditions.CERTIFIED, "False", conditions.CERTIFICATE_NOT_ISSUED, lacking))
            status = build_status(self._body, self.shapes, self.unconfirmed, found)
            await write_status(self._api, self._body, status)

    def _find_reachable(self) -> list[conditions.Condition]:
        """Until the first call is over, what the last process has said stays."""
        if not self._health.is_known:
            before = conditions.find(conditions_of(self._body), conditions.REACHABLE)
            if before is None:
                return []
            said = before["status"], conditions.reason_of(before), before.get("message", "")
            return [conditions.Condition(conditions.REACHABLE, *said)]
        is_answering = self._health.is_answering
        answers = "The backend answers" + (f", but not all that it says it has counts: {self._unheard}" if self._unheard else ".")
        why = (conditions.BACKEND_ANSWERS, answers) if is_answering else self._health.problem
        return [conditions.Condition(conditions.REACHABLE, "True" if is_answering else "False", *why)]

    def _take(self, change: Change) -> None:
        if change.new is None:
            self._problem = Restart("the OverflowBackend is gone")
        elif change.new["metadata"]["uid"] != self._body["metadata"]["uid"]:
            self._problem = Restart("the OverflowBackend was deleted and recreated")
        else:
            before, after = spec_of(self._body), spec_of(change.new)
            if any(before.get(key) != after.get(key) for key in _PROCESS[self.spec.type]):
                self._problem = Restart("the OverflowBackend's access has changed")
            if before != after:
                self._wake.set()
            self._body = change.new
        if self._problem is not None:
            self._wake.set()
        self._tell()

    def _tell(self) -> None:
        for handler in self._handlers:
            handler()


def read_discovered(found: Iterable[base.Shape], before: Sequence[Shape]) -> tuple[list[Shape], list[str]]:
    """What was discovered, and which nonsense is left out.

    What a backend does not say any more of a shape stays as it was.
    """
    known = {shape.name: shape for shape in before}
    faults: list[str] = []
    result: dict[str, Shape] = {}
    for item in found:
        old = known.get(item.name)
        faults += [item.faults] if item.faults else []
        values: Object = {
            "name": item.name,
            "capacity": {**(old.capacity if old else {}), **item.capacity},
            "labels": dict(item.labels),
            "taints": [dict(taint) for taint in item.taints] if item.taints is not None else (old.taints if old else []),
            "machines": item.machines,
        }
        try:
            if any(parse_quantity(str(amount)) < 0 for amount in values["capacity"].values()):
                raise ValueError("an amount is negative")
            result[item.name] = Shape.model_validate(values)
        except ValueError as error:
            why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            faults.append(f"shape '{cut(item.name, 40)}' is left out: {cut(why, 200)}")
            result |= {item.name: old} if old else {}
    return sorted(result.values(), key=lambda shape: shape.name)[:SHAPE_LIMIT], faults


def find_capacity(shapes: Iterable[Shape], name: str, pods: int) -> dict[str, str]:
    """What the node of a shape has. A shape that is gone has nothing, so that no further pod goes there."""
    shape = next((item for item in shapes if item.name == name), None)
    if shape is None:
        return {"pods": "0"}
    return {"pods": str(pods)} | {key: str(value) for key, value in shape.capacity.items()}


def build_status(body: Object, found: list[Shape], unconfirmed: list[UnconfirmedPod], said: list[conditions.Condition]) -> Object:
    """Our part of the status, whole: what is left out of an apply is removed."""
    types, generation = {item.type for item in said}, body["metadata"].get("generation", 0)
    there = [item for item in _find_own(body) if item["type"] in types]
    status: Object = {
        "conditions": conditions.merge(there, said, generation, timestamp()),
        "shapes": [item.model_dump(by_alias=True, exclude_none=True) for item in found],
    }
    if unconfirmed:
        status["unconfirmedPods"] = [item.model_dump(by_alias=True) for item in unconfirmed]
    return status


async def write_status(api: Api, body: Object, status: Object) -> None:
    """Apply our part of the status if it differs. Raises `ApiError`."""
    now = status_of(body)
    lists = ("shapes", "unconfirmedPods")
    if status["conditions"] == _find_own(body) and all((status.get(key) or []) == (now.get(key) or []) for key in lists):
        return
    meta = {"name": body["metadata"]["name"]}
    await api.apply(kinds.OVERFLOW_BACKEND, {"metadata": meta, "status": status}, subresource="status")


def _find_own(body: Object) -> list[Object]:
    return [item for item in conditions_of(body) if item["type"] in (conditions.REACHABLE, conditions.CERTIFIED)]
