"""An API server in memory, with lists and watches for real informers: as much of one as controllers rely on."""

from __future__ import annotations

import asyncio
import builtins
import copy
import json
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import ApiError, Conflict, Invalid, Kind, NotFound, Unreachable, kinds
from tests.fakes.patches import merge, merge_strategic

Key = tuple[str, str, str]

_KINDS: dict[str, Kind] = {item.plural: item for item in vars(kinds).values() if isinstance(item, Kind)}


class MemoryApi:
    """Objects by kind, namespace and name. `asked` notes every request that is not a cache's, as `POST configmaps shop/web`.

    `refusal` may answer a write with an error, by its verb and body. So may `fault` any request, by its verb and a path such as
    `pods shop/web`, and `lost` a write that is done. `hold` keeps a kind's events back, as a slow watch does, until `release`.
    """

    def __init__(self, *known: Kind) -> None:
        self.objects: dict[Key, Object] = {}
        self.asked: builtins.list[str] = []
        self.bodies: builtins.list[Any] = []
        self.refusal: Callable[[str, Object], ApiError | None] = lambda _, __: None
        self.fault: Callable[[str, str], Exception | None] = lambda _, __: None
        self.lost: Callable[[str, str], Exception | None] = lambda _, __: None
        self.is_down = False
        self._kinds: dict[str, Kind] = {**_KINDS, **{kind.plural: kind for kind in known}}
        self.git_version = "v1.36.3"
        self.requests: Counter[tuple[str, str]] = Counter()
        self._version = 0
        self._watches: builtins.list[_Watch] = []
        self._statuses: dict[Key, Object] = {}
        self._held: dict[str, builtins.list[tuple[Object | None, Object | None]]] = {}

    def put(self, kind: Kind, body: Object) -> Object:
        """Have an object there, as if somebody else had written it."""
        meta = body["metadata"]
        key = (kind.plural, meta.get("namespace", ""), meta["name"])
        before = self.objects.get(key)
        uid = before["metadata"]["uid"] if before else meta.get("uid") or str(uuid.uuid4())
        self._version += 1
        made_at = meta.get("creationTimestamp") or (before and before["metadata"]["creationTimestamp"]) or timestamp()
        own = {"uid": uid, "resourceVersion": str(self._version), "creationTimestamp": made_at}
        new: Object = {"apiVersion": kind.api_version, "kind": kind.name, **copy.deepcopy(body)}
        new["metadata"] |= own
        self.objects[key] = new
        self._publish(kind, before, new)
        return copy.deepcopy(new)

    def drop(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Have an object gone, as if somebody else had deleted it."""
        before = self.objects.pop((kind.plural, namespace, name))
        self._version += 1
        gone = copy.deepcopy(before)
        gone["metadata"]["resourceVersion"] = str(self._version)
        self._publish(kind, gone, None)

    def go_on_from(self, other: MemoryApi) -> None:
        """Have all its objects, and count versions on from its."""
        self.objects, self._version = other.objects, other._version

    def look(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """An object as it is now."""
        return copy.deepcopy(self.objects.get((kind.plural, namespace, name)))

    def every(self, plural: str) -> builtins.list[Object]:
        """All objects of a kind."""
        return [copy.deepcopy(item) for key, item in self.objects.items() if key[0] == plural]

    def hold(self, kind: Kind) -> None:
        """Keep the events of a kind back."""
        self._held[kind.plural] = []

    def release(self, kind: Kind) -> None:
        """Deliver what was kept back."""
        for before, new in self._held.pop(kind.plural):
            self._deliver(kind, before, new)

    @property
    def is_quiet(self) -> bool:
        """Whether every watcher has heard of everything that is not held."""
        return all(watch.events.empty() for watch in self._watches)

    async def request(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        *_: Any,
        parse: Callable[[bytes], Object] | None = None,
        **__: Any,
    ) -> Object:
        """A cache's list, or the server's version."""
        if path == "/version":
            return {"gitVersion": self.git_version}
        await self._begin(method, path)
        kind, namespace = self._read_path(path)
        labels, fields = ((query or {}).get(key, "") for key in ("labelSelector", "fieldSelector"))
        items = [item for item in self._all(kind, namespace) if _is_selected(item, labels, fields)]
        answer = {"metadata": {"resourceVersion": str(self._version)}, "items": copy.deepcopy(items)}
        return parse(json.dumps(answer).encode()) if parse else answer

    def with_metadata_only(self) -> Self:
        """See `Api.with_metadata_only`. More than metadata does no harm."""
        return self

    def with_limit(self, answer_bytes: int) -> Self:
        """See `Api.with_limit`."""
        return self

    async def watch(self, kind: Kind, namespace: str | None, query: dict[str, str]) -> AsyncIterator[Object]:
        """A cache's watch."""
        watch = _Watch(kind, namespace or "", query.get("labelSelector", ""), query.get("fieldSelector", ""))
        self._watches.append(watch)
        try:
            while True:
                yield await watch.events.get()
        finally:
            self._watches.remove(watch)

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """See `Api.get`."""
        found = await self.find(kind, name, namespace)
        if found is None:
            raise NotFound(404, "NotFound", f'{kind.plural} "{name}" not found')
        return found

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """See `Api.find`."""
        await self._enter("GET", kind, namespace, name)
        return self.look(kind, name, namespace or "")

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        trim: Callable[[Object], Object] = dict,
    ) -> builtins.list[Object]:
        """See `Api.list`."""
        await self._enter("LIST", kind, namespace, "")
        return [trim(copy.deepcopy(item)) for item in self._all(kind, namespace or "") if _is_selected(item, labels, fields)]

    async def try_create(self, kind: Kind, body: Object) -> None:
        """See `Api.try_create`."""
        await self._enter("POST", kind, body["metadata"].get("namespace"), f"{body['metadata']['name']}?dryRun=All", body)

    async def create(
        self, kind: Kind, body: Object, *, subresource: str | None = None, name: str | None = None, strict: bool = False
    ) -> Object:
        """See `Api.create`. A pod that is evicted is gone."""
        meta = body["metadata"]
        own = name or meta.get("name") or f"{meta['generateName']}{self._version}"
        await self._enter("POST", kind, meta.get("namespace"), "/".join(filter(None, (own, subresource))), body)
        if subresource == "eviction":
            await self.delete(kind, own, meta["namespace"])
            return body
        if self.look(kind, own, meta.get("namespace", "")) is not None:
            raise Conflict(409, "AlreadyExists", f'{kind.plural} "{own}" already exists')
        return self._leave("POST", kind, self.put(kind, body | {"metadata": meta | {"name": own}}))

    async def replace(self, kind: Kind, body: Object) -> Object:
        """See `Api.replace`."""
        meta = body["metadata"]
        await self._enter("PUT", kind, meta.get("namespace"), meta["name"], body)
        now = self.look(kind, meta["name"], meta.get("namespace", ""))
        if now is None:
            raise NotFound(404, "NotFound", f'{kind.plural} "{meta["name"]}" not found')
        if meta["resourceVersion"] != now["metadata"]["resourceVersion"]:
            raise Conflict(
                409, "Conflict", f'Operation cannot be fulfilled on {kind.plural} "{meta["name"]}": it has been modified'
            )
        return self._leave("PUT", kind, self.put(kind, body))

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Any,
        *,
        subresource: str | None = None,
        how: str = "merge",
        strict: bool = False,
    ) -> Object:
        """See `Api.patch`."""
        await self._enter("PATCH", kind, namespace, "/".join(filter(None, (name, subresource))), patch)
        now = self.look(kind, name, namespace or "")
        if now is None:
            raise NotFound(404, "NotFound", f'{kind.plural} "{name}" not found')
        if patch.get("metadata", {}).get("uid", now["metadata"]["uid"]) != now["metadata"]["uid"]:
            causes = {"causes": [{"field": "metadata.uid"}]}
            raise Invalid(422, "Invalid", "metadata.uid: field is immutable", causes)
        if patch.get("metadata", {}).get("resourceVersion") not in (None, now["metadata"]["resourceVersion"]):
            raise Conflict(409, "Conflict", f'Operation cannot be fulfilled on {kind.plural} "{name}": it has been modified')
        new = merge_strategic(now, patch) if how == "strategic" else merge(now, patch)
        return self._leave("PATCH", kind, self.put(kind, new))

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """See `Api.apply`. Of what it leaves out only a status's fields go, as they do, but others' conditions stay. A Service
        gets an address.
        """
        meta = body["metadata"]
        await self._enter("APPLY", kind, meta.get("namespace"), "/".join(filter(None, (meta["name"], subresource))), body)
        now = self.look(kind, meta["name"], meta.get("namespace", ""))
        if now is None and subresource:
            raise NotFound(404, "NotFound", f'{kind.plural} "{meta["name"]}" not found')
        if now is not None and kind is kinds.SECRET and now.get("type") != body.get("type", now.get("type")):
            raise Invalid(422, "Invalid", f'Secret "{meta["name"]}" is invalid: type: field is immutable')
        own = (kind.plural, meta.get("namespace", ""), meta["name"])
        for field in (self._statuses.get(own) or {}).keys() - (body.get("status") or {}).keys() if subresource else ():
            (now or {})["status"].pop(field, None)
        new = merge(now or {}, body)
        if subresource:
            kept = _keep_conditions(now, self._statuses.get(own), body)
            if kept:
                new["status"]["conditions"] = [*kept, *((body.get("status") or {}).get("conditions") or [])]
            self._statuses[own] = body.get("status") or {}
        if kind is kinds.SERVICE:
            new["spec"].setdefault("clusterIP", "10.43.0.9")
        return self._leave("APPLY", kind, self.put(kind, new))

    async def delete(self, kind: Kind, name: str, namespace: str | None = None, *, uid: str | None = None, **_: Any) -> bool:
        """See `Api.delete`."""
        await self._enter("DELETE", kind, namespace, name)
        now = self.look(kind, name, namespace or "")
        if now is None or (uid and now["metadata"]["uid"] != uid):
            return False
        self.drop(kind, name, namespace or "")
        self._leave("DELETE", kind, now)
        return True

    async def delete_all(self, kind: Kind, namespace: str) -> None:
        """See `Api.delete_all`."""
        await self._enter("DELETE", kind, namespace, "")
        for item in self._all(kind, namespace):
            self.drop(kind, item["metadata"]["name"], namespace)

    async def _enter(self, verb: str, kind: Kind, namespace: str | None, name: str, body: Any = None) -> None:
        what = f"{kind.plural} {'/'.join(filter(None, (namespace, name)))}"
        self.asked.append(f"{verb} {what}")
        self.bodies.append(body)
        await self._begin(verb, what)
        if body is not None and (error := self.refusal(verb, body)) is not None:
            raise error

    async def _begin(self, verb: str, what: str) -> None:
        await asyncio.sleep(0)
        if self.is_down:
            raise Unreachable("connection refused")
        if (error := self.fault(verb, what)) is not None:
            raise error

    def _leave(self, verb: str, kind: Kind, made: Object) -> Object:
        meta = made["metadata"]
        if (
            error := self.lost(verb, f"{kind.plural} {'/'.join(filter(None, (meta.get('namespace'), meta['name'])))}")
        ) is not None:
            raise error
        return made

    def _all(self, kind: Kind, namespace: str) -> builtins.list[Object]:
        return [item for key, item in self.objects.items() if key[0] == kind.plural and namespace in ("", key[1])]

    def _read_path(self, path: str) -> tuple[Kind, str]:
        parts = path.split("/")
        return self._kinds[parts[-1]], parts[parts.index("namespaces") + 1] if "namespaces" in parts[:-1] else ""

    def _publish(self, kind: Kind, before: Object | None, new: Object | None) -> None:
        if kind.plural in self._held:
            self._held[kind.plural].append((before, new))
        else:
            self._deliver(kind, before, new)

    def _deliver(self, kind: Kind, before: Object | None, new: Object | None) -> None:
        for watch in self._watches:
            if watch.kind == kind and watch.namespace in ("", (new or before or {})["metadata"].get("namespace", "")):
                watch.take(before, new)


class _Watch:
    def __init__(self, kind: Kind, namespace: str, labels: str, fields: str) -> None:
        self.kind = kind
        self.namespace = namespace
        self.events: asyncio.Queue[Object] = asyncio.Queue()
        self._selectors = labels, fields

    def take(self, before: Object | None, new: Object | None) -> None:
        was, now = (item is not None and _is_selected(item, *self._selectors) for item in (before, new))
        if was or now:
            word = "MODIFIED" if was and now else "ADDED" if now else "DELETED"
            self.events.put_nowait({"type": word, "object": copy.deepcopy(new or before)})


def _keep_conditions(now: Object | None, before: Object | None, body: Object) -> builtins.list[Object]:
    """Those of other writers: conditions are a list by type."""
    ours = {item["type"] for status in (before, body.get("status")) for item in (status or {}).get("conditions") or ()}
    return [item for item in ((now or {}).get("status") or {}).get("conditions") or () if item["type"] not in ours]


def _is_selected(obj: Object, selector: str, fields: str = "") -> bool:
    for term in filter(None, fields.split(",")):
        path, operator, value = re.split("(!?=)", term, maxsplit=1)
        if ((_read_field(obj, path) or "") == value) is (operator == "!="):
            return False
    own = obj["metadata"].get("labels") or {}
    return all(_holds(term, own) for term in re.split(r",(?![^(]*\))", selector) if term)


def _holds(term: str, own: dict[str, str]) -> bool:
    """One term of a label selector: `a`, `!a`, `a=b`, `a in (b,c)`, `a notin (b,c)`."""
    if found := re.fullmatch(r"(\S+) (in|notin) \((.*)\)", term):
        return (own.get(found[1]) in found[3].split(",")) is (found[2] == "in")
    if found := re.fullmatch(r"([^!=]+)!=(.*)", term):
        return own.get(found[1]) != found[2]
    if term.startswith("!"):
        return term[1:] not in own
    key, _, value = term.partition("=")
    return key in own and (not value or own[key] == value)


def _read_field(obj: Object, path: str) -> Any:
    found: Any = obj
    for part in path.split("."):
        found = (found or {}).get(part)
    return found
