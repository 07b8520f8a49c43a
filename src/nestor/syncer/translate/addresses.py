"""Which new Services get their address from the host, and how the nested API server is told. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator
from typing import Any

from nestor.api.objects import Object, spec_of

NAME_LIMIT = 58
"""Characters of `generateName` that a generated name keeps, as API servers do it."""
NODE_PORTS = range(30000, 32768)


def find_candidate(request: Object) -> Object | None:
    """The Service of an AdmissionReview's request if it is about to get an address in the nested cluster, else None.

    `request` may come from a tenant instead of the API server, so it may be anything.
    """
    operation, service, old = (request.get(key) for key in ("operation", "object", "oldObject"))
    resource, meta = request.get("resource"), service.get("metadata") if isinstance(service, dict) else None
    if not isinstance(resource, dict) or not isinstance(service, dict) or not isinstance(meta, dict):
        return None
    if (resource.get("group"), resource.get("resource"), request.get("subResource")) not in (
        ("", "services", None),
        ("", "services", ""),
    ):
        return None
    if request.get("dryRun") or not isinstance(service.get("spec"), dict) or not _gets_address(service):
        return None
    if operation == "UPDATE" and (not isinstance(old, dict) or _gets_address(old)):
        return None
    name = meta.get("name") or meta.get("generateName")
    if operation not in ("CREATE", "UPDATE") or not isinstance(name, str) or not isinstance(request.get("namespace"), str):
        return None
    return service | {"metadata": meta | {"namespace": request["namespace"]}}


def _gets_address(service: Object) -> bool:
    spec = spec_of(service)
    return spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None"


def build_patch(service: Object, copy: Object, name: str, taken: Collection[int] = ()) -> list[Object]:
    """A JSON patch that gives the new Service what its host Service has got. `taken`: node ports of other nested Services."""
    own, spec = service["spec"], copy["spec"]
    wanted = {key: spec[key] for key in ("clusterIP", "clusterIPs", *_find_health_check(spec)) if spec.get(key)}
    patch = [_set(f"/spec/{key}", item) for key, item in wanted.items() if own.get(key) != item]
    if spec.get("type") == own.get("type"):
        patch += _build_port_patch(own, spec, taken)
    if service["metadata"].get("name") != name:
        patch.append(_set("/metadata/name", name))
    return patch


def _find_health_check(spec: Object) -> tuple[str, ...]:
    return ("healthCheckNodePort",) if _is_node_port(spec.get("healthCheckNodePort")) else ()


def _build_port_patch(own: Object, spec: Object, taken: Collection[int]) -> Iterator[Object]:
    """Node ports have the order of the ports."""
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
