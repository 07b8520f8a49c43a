"""DeviceClasses and ResourceClaims: what of them is carried to the other cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nestor.api.allowances import Devices
from nestor.api.objects import Object, is_terminating, spec_of, status_of
from nestor.pods.translate import fields
from nestor.pods.translate.device_claims import NO_DEVICES, list_allowed
from nestor.pods.translate.fields import Table
from nestor.pods.translate.fields.devices import ALTERNATIVE, CLAIM, DEVICES, EXACT, REQUEST
from nestor.pods.translate.target import Target, nested_uid
from nestor.syncer.translate.storage import UP

_VERSION = "resource.k8s.io/v1"
_RESULT = ("request", "driver", "pool", "device", "shareID")
"""What an allocation is known by."""

_Part = tuple[str, Object, Table]
"""Path, content and table of a request's part that names a DeviceClass."""


def build_class(host: Object) -> Object:
    """The nested DeviceClass: a name. Which devices there are of it, and with which parameters, is known to the host alone."""
    metadata = {"name": host["metadata"]["name"], "labels": dict(UP)}
    return {"apiVersion": _VERSION, "kind": "DeviceClass", "metadata": metadata, "spec": {}}


def find_refusal(claim: Object, devices: Devices, own_classes: Sequence[str]) -> str | None:
    """Why the host has no such claim. `own_classes`: DeviceClasses of the tenant's own."""
    return "; ".join(_check(claim, devices, own_classes)) or None


def _check(claim: Object, devices: Devices, own_classes: Sequence[str]) -> Iterator[str]:
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


def find_ignored(claim: Object) -> str | None:
    """Fields that this version of Nestor does not know."""
    found = [*fields.find_unknown("spec", spec_of(claim), CLAIM)]
    found += fields.find_unknown("spec.devices", _read(claim), DEVICES)
    for index, request in enumerate(_read(claim).get("requests") or []):
        found += fields.find_unknown(f"spec.devices.requests[{index}]", request, REQUEST)
    for path, part, table in _find_parts(claim):
        found += fields.find_unknown(path, part, table)
    return "; ".join(found) or None


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
