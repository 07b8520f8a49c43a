"""Reasons to refuse a pod: fields that its class's Pod Security level forbids, and fields that Nestor does not support.

Nothing is dropped silently: every field or volume without a counterpart on the host is reported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nestor.api import images
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate import baseline, device_claims, fields, gang_claims, node_rules, volumes
from nestor.pods.translate.claims import NO_BLOCK_VOLUMES, NO_VOLUMES
from nestor.pods.translate.device_claims import NO_DEVICES
from nestor.pods.translate.fields import Table
from nestor.pods.translate.fields.containers import CONTAINER
from nestor.pods.translate.fields.pods import POD_SPEC
from nestor.pods.translate.fields.volumes import BY_STORAGE, PROJECTION, VOLUME

_SOURCES = fields.find(PROJECTION, "Translate")
_GROUPS = ("initContainers", "containers", "ephemeralContainers")


def find_refusals(pod: Object, policy: Policy) -> list[str]:
    """One message per field that keeps this pod from running; empty for most pods."""
    spec = pod["spec"]
    found = [*_check_pod(spec, policy), *node_rules.check_wishes(pod, policy.places)]
    if policy.places.gang is not None:
        found += gang_claims.find_faults(pod, policy.places.gang)
    if policy.pod_security == "Baseline":
        found += baseline.check_pod(spec)
    for index, volume in enumerate(spec.get("volumes") or []):
        found += _check_volume(f"spec.volumes[{index}]", volume, policy)
    for group in _GROUPS:
        for index, container in enumerate(spec.get(group) or []):
            found += _check_container(f"spec.{group}[{index}]", container, policy)
    return found


def find_debug_refusals(pod: Object, policy: Policy) -> list[str]:
    """One message per field that keeps a debug container from running. Faults of the pod itself are left out: it runs already."""
    before = find_refusals(without_debug(pod), policy)
    return [text for text in find_refusals(pod, policy) if text not in before]


def without_debug(pod: Object) -> Object:
    """The pod as it was created, without the debug containers added later. Refusing one of those does not stop the pod."""
    return pod | {"spec": {key: value for key, value in pod["spec"].items() if key != "ephemeralContainers"}}


def find_permitted_debug(pod: Object, policy: Policy) -> set[str]:
    """Names of the ephemeral containers that may run. A refused one stays in the pod's spec and must not block later ones."""
    containers = pod["spec"].get("ephemeralContainers") or []
    return {container["name"] for container in containers if not list(_check_container("", container, policy))}


def _check_pod(spec: Object, policy: Policy) -> Iterator[str]:
    runtimes, name = policy.places.runtime_classes, spec.get("runtimeClassName")
    if name and not runtimes.allows(name):
        listed = ", ".join(f"'{item}'" for item in runtimes.allowed) or "none"
        yield f"`spec.runtimeClassName` may not be '{name}': the class allows {listed} (`{POD_SPEC['runtimeClassName'].note}`)"
    if spec.get("resourceClaims") and not policy.allowed_devices.classes:
        yield f"`spec.resourceClaims` may not be set: {NO_DEVICES}"
    yield from _check_resources("spec.resources", spec.get("resources") or {}, policy)
    yield from _check_fields("spec", spec, POD_SPEC)


def _check_resources(path: str, resources: Object, policy: Policy) -> Iterator[str]:
    devices = policy.allowed_devices
    if resources.get("claims") and not devices.classes:
        yield f"`{path}.claims` may not be set: {NO_DEVICES}"
    for name in device_claims.find_foreign(resources, devices):
        yield f"`{path}` may not request devices of DeviceClass '{name}': {device_claims.list_allowed(devices)}"


def _check_fields(path: str, there: Object, table: Table) -> Iterator[str]:
    """The fields that the table refuses."""
    for field in fields.find(table, "Refuse"):
        if there.get(field):
            yield f"`{path}.{field}` may not be set: {table[field].note}"


def find_image_refusals(pod: Object, before: Mapping[str, str], policy: Policy) -> list[str]:
    """One message per container that was given another image than `before`, which is not allowed."""
    found: list[str] = []
    for group in ("initContainers", "containers"):
        for index, container in enumerate(pod["spec"].get(group) or []):
            if before.get(container["name"], container.get("image")) != container.get("image"):
                found += _check_image(f"spec.{group}[{index}].image", container.get("image"), policy)
    return found


def _check_image(path: str, image: str | None, policy: Policy) -> Iterator[str]:
    if image and (fault := images.find_fault(image, policy.allowed_images)):
        yield f"`{path}` {fault}"


def _check_volume(path: str, volume: Object, policy: Policy) -> Iterator[str]:
    kind = next((key for key in volume if key != "name"), "emptyDir")
    if kind == "image":
        yield from _check_image(f"{path}.image.reference", volume["image"].get("reference"), policy)
    allowed = {*volumes.find_verbatim(policy), *fields.find(VOLUME, "Translate")}
    if kind in BY_STORAGE:
        if not policy.volumes.classes:
            yield f"`{path}.{kind}` may not be set: {NO_VOLUMES}"
    elif kind not in allowed:
        why = VOLUME[kind].note if kind in fields.find(VOLUME, "Refuse") else ""
        why = why or f"volumes must be one of {', '.join(sorted(allowed))}"
        yield f"`{path}.{kind}` may not be set: {why}"
    for index, source in enumerate((volume.get("projected") or {}).get("sources") or []):
        for other in source.keys() - set(_SOURCES):
            yield f"`{path}.projected.sources[{index}].{other}` may not be set: must be one of {', '.join(_SOURCES)}"


def _check_container(path: str, container: Object, policy: Policy) -> Iterator[str]:
    if policy.pod_security == "Baseline":
        yield from baseline.check_container(path, container)
    if container.get("volumeDevices") and not (policy.volumes.classes and policy.volumes.block_volumes):
        yield f"`{path}.volumeDevices` may not be set: {NO_BLOCK_VOLUMES}"
    yield from _check_image(f"{path}.image", container.get("image"), policy)
    yield from _check_fields(path, container, CONTAINER)
    yield from _check_resources(f"{path}.resources", container.get("resources") or {}, policy)
