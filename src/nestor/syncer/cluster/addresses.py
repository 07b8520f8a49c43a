"""Gives new Services an address that is free in both clusters, before they exist.

Both clusters allocate from the same range, without knowing of each other. When a Service is created, the nested API server
therefore asks here, by a webhook: the host Service is made first, and the new Service gets its address. If that fails, the
Service is created with the nested cluster's choice, which the host has free in nearly all cases (see `copies/rows/services.py`).
"""

import asyncio
import base64
import contextlib
import json
import logging
import random
import uuid
from collections.abc import Collection, Iterator
from typing import Any

from nestor.api.objects import Object, spec_of
from nestor.kube import ApiError, RetryLater, kinds
from nestor.kube.index import Index
from nestor.kube.informer import Key
from nestor.syncer.copies.engine import Engine
from nestor.syncer.translate.service import is_synced
from nestor.syncer.view.context import Context

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 3.0
"""How long a new Service waits at most. What is not there by then is not used."""
NAME_LIMIT = 58
"""Characters of `generateName` that a generated name keeps, as API servers do it."""
NODE_PORTS = range(30000, 32768)
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Of generated names, as API servers choose them."""
_LIMIT = 40
"""Services that may wait at the same time. Whoever is admin of the nested cluster can call as often as he likes."""


class Addresses:
    """Answers the nested API server's questions."""

    def __init__(self, context: Context, services: Engine) -> None:
        self._context = context
        self._services = services
        self._nested = context.caches.nested(kinds.SERVICE)
        self._by_address = Index(self._nested, lambda service: spec_of(service).get("clusterIP"))
        self._waiting = 0
        self.reserved = 0
        """Services that got their address before they existed."""
        self.missed = 0
        """Services that should have, and were created without."""

    async def review(self, review: Object) -> Object:
        request = review.get("request")
        request = request if isinstance(request, dict) else {}
        service = find_candidate(request)
        patch: list[Object] = []
        warning = ""
        if service is not None:
            patch, warning = await self._serve(service)
        return build_review(request.get("uid"), patch, warning)

    async def _serve(self, service: Object) -> tuple[list[Object], str]:
        meta, spec = service["metadata"], service["spec"]
        # The API server generates a name only after it has asked us, and then takes ours.
        name = meta.get("name") or meta["generateName"][:NAME_LIMIT] + "".join(random.choices(_LETTERS, k=5))
        wanted = service | {"metadata": {"name": name, "namespace": meta["namespace"], "uid": str(uuid.uuid4())}}
        key = (meta["namespace"], name)
        if not is_synced(wanted | {"spec": {"clusterIP": "any"} | spec}):
            return [], ""
        try:
            if self._waiting >= _LIMIT:
                raise RetryLater(0, "too many new Services at a time")
            self._waiting += 1
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    if await self._exists(key):
                        return [], ""  # the API server will say so itself
                    copy = await self._reserve(key, wanted)
            finally:
                self._waiting -= 1
        except (ApiError, RetryLater, TimeoutError) as error:
            log.info("Service %s gets an address of the nested cluster's own choice: %s", name, str(error) or "no answer in time")
            self.missed += 1
            return [], ""
        self.reserved += 1
        return build_patch(service, copy, name, taken=self._list_node_ports()), _explain(spec, copy)

    async def _exists(self, key: Key) -> bool:
        """The cache may be late, and is empty at first: the first Services are made as soon as the API server is there."""
        if self._nested.synced.is_set() and self._nested.get(key[1], key[0]) is None:
            return False
        return await self._context.nested.find(kinds.SERVICE, key[1], key[0]) is not None

    async def _is_taken(self, address: str) -> bool:
        """Whether a Service of the nested cluster has an address that is free on the host: one without a host Service may."""
        if self._nested.synced.is_set():
            return self._by_address.get(address) is not None
        return any(spec_of(item).get("clusterIP") == address for item in await self._context.nested.list(kinds.SERVICE))

    def _list_node_ports(self) -> set[int]:
        """Those that Services of the nested cluster have, also where the class does not let them work."""
        return {port["nodePort"] for item in self._nested for port in spec_of(item).get("ports") or () if "nodePort" in port}

    async def _reserve(self, key: Key, service: Object) -> Object:
        """Its host Service. If there are too many writes, or its address comes free at the moment, this waits."""
        while True:
            try:
                copy = await self._services.copier.reserve(key, service)
            except RetryLater as later:
                await asyncio.sleep(later.delay)
                continue
            address = copy["spec"]["clusterIP"]
            if not await self._is_taken(address):
                return copy
            # Free on the host, but taken in the nested cluster, whose API server would refuse the new Service.
            with contextlib.suppress(ApiError):
                meta = copy["metadata"]
                await self._context.host.delete(kinds.SERVICE, meta["name"], meta["namespace"], uid=meta["uid"])
            raise RetryLater(0, f"address {address} is taken in the nested cluster")


def _explain(spec: Object, copy: Object) -> str:
    """What the new Service asks for and does not get."""
    asked = [("clusterIP", spec.get("clusterIP"), copy["spec"]["clusterIP"])]
    ports = zip(spec.get("ports") or (), copy["spec"].get("ports") or (), strict=False)
    asked += [("nodePort", port.get("nodePort"), there["nodePort"]) for port, there in ports if there.get("nodePort")]
    texts = [
        f"{field} {one} is taken in the host cluster: the Service gets {two}" for field, one, two in asked if one and one != two
    ]
    return "; ".join(texts)


def find_candidate(request: Object) -> Object | None:
    """The Service of an AdmissionReview's request if it is created with an address of the nested cluster, else None.

    `request` may come from a tenant instead of the API server, so it may be anything.
    """
    service, resource = request.get("object"), request.get("resource")
    if request.get("operation") != "CREATE" or request.get("dryRun") or request.get("subResource"):
        return None
    if not isinstance(resource, dict) or (resource.get("group"), resource.get("resource")) != ("", "services"):
        return None
    meta, spec = (service.get(key) for key in ("metadata", "spec")) if isinstance(service, dict) else (None, None)
    if not isinstance(service, dict) or not isinstance(meta, dict) or not isinstance(spec, dict):
        return None
    name, namespace = meta.get("name") or meta.get("generateName"), request.get("namespace")
    if not isinstance(name, str) or not isinstance(namespace, str):
        return None
    return service | {"metadata": meta | {"namespace": namespace}}


def build_patch(service: Object, copy: Object, name: str, taken: Collection[int] = ()) -> list[Object]:
    """A JSON patch that gives the new Service what its host Service has got. `taken`: node ports of other nested Services."""
    own, spec = service["spec"], copy["spec"]
    wanted = {key: spec[key] for key in ("clusterIP", "clusterIPs") if spec.get(key)}
    if _is_node_port(spec.get("healthCheckNodePort")):
        wanted["healthCheckNodePort"] = spec["healthCheckNodePort"]
    patch = [_set(f"/spec/{key}", item) for key, item in wanted.items() if own.get(key) != item]
    if spec.get("type") == own.get("type"):
        patch += _build_port_patch(own, spec, taken)
    if service["metadata"].get("name") != name:
        patch.append(_set("/metadata/name", name))
    return patch


def _build_port_patch(own: Object, spec: Object, taken: Collection[int]) -> Iterator[Object]:
    for at, (port, there) in enumerate(zip(own.get("ports") or (), spec.get("ports") or (), strict=False)):
        number = there.get("nodePort")
        if _is_node_port(number) and number not in taken and port.get("nodePort") != number:
            yield _set(f"/spec/ports/{at}/nodePort", number)


def _is_node_port(number: Any) -> bool:
    """Whether the nested API server takes it: its range is the default one, whatever the host's is."""
    return isinstance(number, int) and number in NODE_PORTS


def _set(path: str, value: Any) -> Object:
    return {"op": "add", "path": path, "value": value}


def build_review(uid: Any, patch: list[Object], warning: str = "") -> Object:
    """The answer: always yes."""
    response: Object = {"uid": uid, "allowed": True}
    if patch:
        text = json.dumps(patch, separators=(",", ":")).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(text).decode()}
    if warning:
        response["warnings"] = [warning]
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
