"""What interLink cannot carry: each such field is named before anything is sent. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api.objects import Object

_VOLUMES = frozenset({"configMap", "downwardAPI", "emptyDir", "projected", "secret"})
_SOURCES = frozenset({"configMap", "downwardAPI", "secret", "serviceAccountToken"})
_VALUES = frozenset({"configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef"})
_HOST = ("hostIPC", "hostNetwork", "hostPID")
_GROUPS = ("initContainers", "containers", "ephemeralContainers")


def find_refusals(pod: Object) -> list[str]:
    """One message per field that interLink cannot carry; empty for most pods."""
    spec = pod["spec"]
    found = [
        f"`spec.{field}` may not be true: interLink backends share no namespaces with pods" for field in _HOST if spec.get(field)
    ]
    if spec.get("resourceClaims"):
        found.append("`spec.resourceClaims` may not be set: interLink cannot carry dynamic resource claims")
    for index, volume in enumerate(spec.get("volumes") or []):
        found += _check_volume(f"spec.volumes[{index}]", volume)
    for group in _GROUPS:
        for index, container in enumerate(spec.get(group) or []):
            found += _check_container(f"spec.{group}[{index}]", container)
    return found


def _check_volume(path: str, volume: Object) -> Iterator[str]:
    kind = next((key for key in volume if key != "name"), "emptyDir")
    if kind not in _VOLUMES:
        allowed = ", ".join(sorted(_VOLUMES))
        yield f"`{path}.{kind}` (volume '{volume['name']}') may not be set: interLink carries only {allowed}"
        return
    for index, source in enumerate((volume.get("projected") or {}).get("sources") or []):
        for other in sorted(source.keys() - _SOURCES):
            yield (
                f"`{path}.projected.sources[{index}].{other}` (volume '{volume['name']}') may not be set: "
                f"interLink carries only {', '.join(sorted(_SOURCES))}"
            )


def _check_container(path: str, container: Object) -> Iterator[str]:
    if container.get("volumeDevices"):
        yield f"`{path}.volumeDevices` may not be set: interLink cannot carry block devices"
    if (container.get("resources") or {}).get("claims"):
        yield f"`{path}.resources.claims` may not be set: interLink cannot carry dynamic resource claims"
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if (mount.get("mountPropagation") or "None") != "None":
            yield f"`{path}.volumeMounts[{index}].mountPropagation` must be 'None' on interLink backends"
    for index, variable in enumerate(container.get("env") or []):
        for other in sorted((variable.get("valueFrom") or {}).keys() - _VALUES):
            yield f"`{path}.env[{index}].valueFrom.{other}` may not be set: must be one of {', '.join(sorted(_VALUES))}"
