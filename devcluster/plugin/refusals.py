"""What this backend does not run: each such thing is named. Pure."""

from collections.abc import Iterable

from nestor.api.objects import Object

VOLUME_TYPES = ("configMap", "emptyDir", "projected", "secret")


class Refused(Exception):
    """This backend cannot run such a pod, now or later; the message says why."""


def check(pod: Object) -> None:
    """Raise `Refused` for what interLink does not carry, or this backend does not have, and name it."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    for name in ("uid", "name", "namespace"):
        if not meta.get(name):
            raise Refused(f"metadata.{name} is missing")
    if not spec.get("containers"):
        raise Refused("spec.containers is missing")
    for field in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
        if spec.get(field):
            raise Refused(f"{field} cannot be had")
    _check_volumes(spec.get("volumes") or [])
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy"):
            raise Refused(f"init container '{container['name']}' is to run beside the others, which cannot be had")
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        _check_container(container)


def _check_volumes(volumes: Iterable[Object]) -> None:
    for volume in volumes:
        if volume_type(volume) not in VOLUME_TYPES:
            raise Refused(f"volume '{volume['name']}' is a {volume_type(volume)}; only {', '.join(VOLUME_TYPES)} can be had")


def _check_container(container: Object) -> None:
    name = container["name"]
    if container.get("envFrom"):
        raise Refused(f"envFrom of container '{name}' is not resolved")
    for variable in container.get("env") or []:
        if variable.get("valueFrom"):
            raise Refused(f"env '{variable['name']}' of container '{name}' is not resolved")
    for field in ("lifecycle", "volumeDevices"):
        if container.get(field):
            raise Refused(f"{field} of container '{name}' cannot be had")
    if (container.get("securityContext") or {}).get("privileged"):
        raise Refused(f"container '{name}' is privileged")


def volume_type(volume: Object) -> str:
    """The field that says what kind of volume it is; `emptyDir` when there is none."""
    return next((name for name in volume if name != "name"), "emptyDir")
