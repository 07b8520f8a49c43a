"""Reasons to refuse a pod: fields that its class's Pod Security level forbids, and fields that Nestor does not support.

Nothing is dropped silently: every field or volume without a counterpart on the host is reported here. The host namespace enforces
Pod Security too. Checking here as well lets the message name the nested field, and covers hosts that do not enforce it.
https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
"""

from collections.abc import Iterator, Mapping

from nestor.api import images
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate import device_claims, fields, gang, node_rules, volumes
from nestor.pods.translate.container_status import RUN, list_containers
from nestor.pods.translate.device_claims import NO_DEVICES
from nestor.pods.translate.fields import Table
from nestor.pods.translate.fields.containers import CONTAINER
from nestor.pods.translate.fields.pods import POD_SPEC
from nestor.pods.translate.fields.volumes import BY_STORAGE, PROJECTION, VOLUME
from nestor.pods.translate.volumes import NO_BLOCK_VOLUMES, NO_VOLUMES

_SOURCES = fields.find(PROJECTION, "Translate")
_CAPABILITIES = frozenset({
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
    "SETPCAP", "SETUID", "SYS_CHROOT",
})  # fmt: skip
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_SYSCTLS = frozenset({
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
})  # fmt: skip


def find_refusals(pod: Object, policy: Policy) -> list[str]:
    """One message per field that keeps this pod from running; empty for most pods."""
    spec = pod["spec"]
    found = [*_check_pod(spec, policy), *node_rules.check_wishes(pod, policy.places)]
    if policy.places.gang is not None:
        found += gang.find_faults(pod, policy.places.gang)
    if policy.pod_security == "Baseline":
        found += _check_baseline(spec)
    for index, volume in enumerate(spec.get("volumes") or []):
        found += _check_volume(f"spec.volumes[{index}]", volume, policy)
    for path, container in list_containers(spec):
        found += _check_container(path, container, policy)
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
    for field in fields.find(table, "Refuse"):
        if there.get(field):
            yield f"`{path}.{field}` may not be set: {table[field].note}"


def find_image_refusals(pod: Object, before: Mapping[str, str], policy: Policy) -> list[str]:
    """One message per container that was given another image than `before`, which is not allowed."""
    found: list[str] = []
    for path, container in list_containers(pod["spec"], RUN):
        if before.get(container["name"], container.get("image")) != container.get("image"):
            found += _check_image(f"{path}.image", container.get("image"), policy)
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
        yield from _check_baseline_container(path, container)
    if container.get("volumeDevices") and not (policy.volumes.classes and policy.volumes.block_volumes):
        yield f"`{path}.volumeDevices` may not be set: {NO_BLOCK_VOLUMES}"
    yield from _check_image(f"{path}.image", container.get("image"), policy)
    yield from _check_fields(path, container, CONTAINER)
    yield from _check_resources(f"{path}.resources", container.get("resources") or {}, policy)


def _check_baseline(spec: Object) -> Iterator[str]:
    """One message per field of the pod itself that the level refuses."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield f"`spec.{field}` may not be true: pods of a nested cluster cannot share the node's namespaces"
    context = spec.get("securityContext") or {}
    for sysctl in context.get("sysctls") or []:
        if sysctl["name"] not in _SYSCTLS:
            yield f"`spec.securityContext.sysctls` must not contain '{sysctl['name']}': only safe sysctls are allowed"
    yield from _check_security("spec.securityContext", context)


def _check_baseline_container(path: str, container: Object) -> Iterator[str]:
    """One message per field of a container that the level refuses; `path` is the container's field path."""
    context = container.get("securityContext") or {}
    if context.get("privileged"):
        yield f"`{path}.securityContext.privileged` may not be true"
    if (context.get("procMount") or "Default") != "Default":
        yield f"`{path}.securityContext.procMount` must be 'Default'"
    for capability in (context.get("capabilities") or {}).get("add") or []:
        if capability.removeprefix("CAP_") not in _CAPABILITIES:
            yield f"`{path}.securityContext.capabilities.add` must not contain '{capability}'"
    yield from _check_security(f"{path}.securityContext", context)
    for index, port in enumerate(container.get("ports") or []):
        for field in ("hostPort", "hostIP"):
            if port.get(field):
                yield f"`{path}.ports[{index}].{field}` may not be set: use a Service instead"
    yield from _check_handlers(path, container)


def _check_handlers(path: str, container: Object) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = {probe: container.get(probe) or {} for probe in ("livenessProbe", "readinessProbe", "startupProbe")}
    handlers |= {f"lifecycle.{hook}": lifecycle.get(hook) or {} for hook in ("postStart", "preStop")}
    for name, handler in handlers.items():
        for action in ("httpGet", "tcpSocket"):
            if (handler.get(action) or {}).get("host"):
                yield f"`{path}.{name}.{action}.host` may not be set: probes and hooks can only reach the pod itself"


def _check_security(path: str, context: Object) -> Iterator[str]:
    """The fields that pod and container security contexts share."""
    for profile in ("seccompProfile", "appArmorProfile"):
        if (context.get(profile) or {}).get("type") == "Unconfined":
            yield f"`{path}.{profile}.type` may not be 'Unconfined'"
    selinux = context.get("seLinuxOptions") or {}
    if (selinux.get("type") or "") not in _SELINUX_TYPES:
        yield f"`{path}.seLinuxOptions.type` may not be '{selinux['type']}'"
    for field in ("user", "role"):
        if selinux.get(field):
            yield f"`{path}.seLinuxOptions.{field}` may not be set"
    if (context.get("windowsOptions") or {}).get("hostProcess"):
        yield f"`{path}.windowsOptions.hostProcess` may not be true"
