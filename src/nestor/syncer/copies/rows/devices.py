"""ResourceClaims, which the host's scheduler allocates for host pods."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nestor.api.allowances import Devices
from nestor.api.objects import Object, is_terminating, spec_of, status_of
from nestor.api.pod_status import is_terminal
from nestor.kube import Change, NotFound, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import device_claims, fields
from nestor.pods.translate.device_claims import NO_DEVICES, list_allowed
from nestor.pods.translate.fields import Table
from nestor.pods.translate.fields.volumes import ALTERNATIVE, CLAIM, DEVICES, EXACT, REQUEST
from nestor.pods.translate.target import Target, nested_uid
from nestor.syncer.copies.rows.storage import OWN, OwnRow
from nestor.syncer.translate import storage


class ResourceClaimRow(OwnRow):
    """Those of pods' own, and those that the nested cluster has made from templates."""

    kind = kinds.RESOURCE_CLAIM
    refused = "ClaimRefused"
    is_small = True
    fields = OWN

    def set_up(self) -> None:
        self._classes = self.caches.nested(kinds.DEVICE_CLASS)
        self._pods = self.caches.host(kinds.POD)
        self._classes.on_change(self.wake_all)
        self._pods.on_change(self._on_pod)

    def judge(self, source: Object) -> Iterable[str]:
        own = [item["metadata"]["name"] for item in self._classes if storage.is_tenants(item)]
        return find_refusals(source, self.policy.allowed_devices, own)

    def find_ignored(self, source: Object) -> Iterable[str]:
        return find_ignored(source)

    def build(self, source: Object) -> Object:
        return build_claim(source, self.context.target)

    def lift(self, source: Object, copy: Object) -> Object | None:
        return lift_status(source, copy, list(self._find_pods(copy)))

    def _find_pods(self, copy: Object) -> Iterable[Object]:
        """The nested pods that it is reserved for. Those that have ended are left out, as the nested cluster does."""
        for item in status_of(copy).get("reservedFor") or []:
            host = self._pods.get(item.get("name", ""), self.context.target.namespace)
            if item.get("resource") != kinds.POD.plural or host is None or host["metadata"]["uid"] != item.get("uid"):
                continue
            nested = self.caches.nested_by_uid.get(nested_uid(host))
            if nested is not None and not is_terminal(nested):
                yield nested

    def _on_pod(self, change: Change) -> None:
        for item in spec_of(change.new).get("resourceClaims") or [] if change.old is None else ():
            copy = self.copies.get(item.get("resourceClaimName") or "", self.context.target.namespace)
            if copy is not None and (key := self.source_key(copy)) is not None:
                self.wake(key)

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """The claims of the pod. Raises `RetryLater`, and `NotFound` in the end, while one is still to be made."""
        if unmade := device_claims.find_unmade(pod):
            meta = pod["metadata"]
            self._wait((meta["namespace"], f"{meta['name']}/{meta['uid']}"), unmade)
        return [(pod["metadata"]["namespace"], name) for name in device_claims.find_names(pod)]

    def missing(self, key: Key) -> None:
        self._wait(key, f'resourceclaim "{key[1]}"')

    def _wait(self, key: Key, what: str) -> None:
        """No pod may be created before its claims. Those from templates come after the pod."""
        self.patience.wait(key, what)
        raise NotFound(404, "NotFound", f"{what} not found")


ROWS = (ResourceClaimRow,)


_VERSION = "resource.k8s.io/v1"
_RESULT = ("request", "driver", "pool", "device", "shareID")
"""What an allocation is known by."""

_Part = tuple[str, Object, Table]
"""Path, content and table of a request's part that names a DeviceClass."""


def find_refusals(claim: Object, devices: Devices, own_classes: Sequence[str]) -> Iterator[str]:
    """Why the host has no such claim. `own_classes`: DeviceClasses of the tenant's own."""
    if not devices.classes:
        yield NO_DEVICES
        return
    if "spec" not in claim:
        yield "the claim is too large"
        return
    if _read(claim).get("config") and not devices.parameters:
        yield "`spec.devices.config` may not be set: the class allows no parameters (`devices.parameters`)"
    for path, part, table in _find_parts(claim):
        name = part.get("deviceClassName")
        if name not in devices.classes:
            yield f"`{path}.deviceClassName` may not be '{name}': {list_allowed(devices)}"
        elif name in own_classes:
            yield f"DeviceClass '{name}' of this cluster is not the host cluster's: delete it, and Nestor creates the host's"
        for field in fields.find(table, "Refuse"):
            if part.get(field):
                yield f"`{path}.{field}` may not be set: {table[field].note}"


def _read(claim: Object) -> Object:
    return spec_of(claim).get("devices") or {}


def _find_parts(claim: Object) -> Iterator[_Part]:
    for index, request in enumerate(_read(claim).get("requests") or []):
        path = f"spec.devices.requests[{index}]"
        if exact := request.get("exactly"):
            yield f"{path}.exactly", exact, EXACT
        for number, item in enumerate(request.get("firstAvailable") or []):
            yield f"{path}.firstAvailable[{number}]", item, ALTERNATIVE


def find_ignored(claim: Object) -> Iterator[str]:
    yield from fields.find_unknown("spec", spec_of(claim), CLAIM)
    yield from fields.find_unknown("spec.devices", _read(claim), DEVICES)
    for index, request in enumerate(_read(claim).get("requests") or []):
        yield from fields.find_unknown(f"spec.devices.requests[{index}]", request, REQUEST)
    for path, part, table in _find_parts(claim):
        yield from fields.find_unknown(path, part, table)


def build_claim(claim: Object, target: Target) -> Object:
    """The host's claim. Call only if `find_refusal` returned nothing."""
    devices = _read(claim)
    wanted = _carry(devices, DEVICES)
    if requests := devices.get("requests"):
        wanted["requests"] = [_build_request(item) for item in requests]
    spec = {"devices": wanted}
    return {"apiVersion": _VERSION, "kind": "ResourceClaim", "metadata": target.metadata(claim), "spec": spec}


def _build_request(request: Object) -> Object:
    built = _carry(request, REQUEST)
    if exact := request.get("exactly"):
        built["exactly"] = _carry(exact, EXACT)
    if others := request.get("firstAvailable"):
        built["firstAvailable"] = [_carry(item, ALTERNATIVE) for item in others]
    return built


def _carry(part: Object, table: Table) -> Object:
    return {key: part[key] for how in ("Pass", "Class") for key in fields.find(table, how) if key in part}


def lift_status(claim: Object, host: Object, pods: Sequence[Object]) -> Object | None:
    """A patch that brings the host's allocation into the status of the nested claim; None if it is there. `pods`: the nested ones
    that it is reserved for.

    Parameters are left out: some are the DeviceClass's, and the host's own.
    """
    if nested_uid(host) != claim["metadata"]["uid"] or is_terminating(claim):
        return None
    own, now = status_of(host), status_of(claim)
    said: dict[str, Any] = dict.fromkeys(("allocation", "devices", "reservedFor"))
    if allocation := own.get("allocation"):
        results = {key: value for key, value in (allocation.get("devices") or {}).items() if key != "config"}
        said["allocation"] = allocation | {"devices": results}
        said["devices"] = own.get("devices") or None
        said["reservedFor"] = [
            {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in pods
        ] or None
    before, wanted = _identify(now.get("allocation")), _identify(said["allocation"])
    if before is not None and wanted is not None:
        # It cannot be changed, only taken back. What an older nested API server does not know of it is no change.
        said = said | {"allocation": now["allocation"]} if before == wanted else dict.fromkeys(said)
    patch = {key: value for key, value in said.items() if value != (now.get(key) or None)}
    return {"status": patch} if patch else None


def _identify(allocation: Object | None) -> list[tuple[Any, ...]] | None:
    if allocation is None:
        return None
    return [tuple(item.get(key) for key in _RESULT) for item in (allocation.get("devices") or {}).get("results") or []]
