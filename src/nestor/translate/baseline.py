"""What a pod of a shared nested cluster may not ask for: Pod Security `baseline`, and what cannot work.

The host namespace enforces `baseline` too; finding it here names the nested field to the user, and covers hosts that
do not enforce. https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
"""

from __future__ import annotations

from collections.abc import Iterator

from nestor.objects import Object

_VOLUMES = frozenset({"emptyDir", "configMap", "secret", "projected", "downwardAPI", "image"})
# A generic ephemeral volume is a claim too: its template may name any PersistentVolume of the host.
_CLAIMS = frozenset({"persistentVolumeClaim", "ephemeral"})
_SOURCES = frozenset({"configMap", "secret", "downwardAPI", "serviceAccountToken"})
_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    }
)
_GROUPS = ("initContainers", "containers", "ephemeralContainers")


def find_refusals(pod: Object) -> list[str]:
    """A sentence for each field that keeps this pod from running; empty for most pods."""
    spec = pod["spec"]
    found = [*_pod(spec), *_security("spec.securityContext", spec.get("securityContext") or {})]
    for index, volume in enumerate(spec.get("volumes") or []):
        found += _volume(f"spec.volumes[{index}]", volume)
    for group in _GROUPS:
        for index, container in enumerate(spec.get(group) or []):
            found += _container(f"spec.{group}[{index}]", container)
    return found


def find_permitted_debug(pod: Object) -> set[str]:
    """Names of the ephemeral containers that may run. A refused one stays in the pod for ever; it must not stop later ones."""
    return {
        container["name"] for container in pod["spec"].get("ephemeralContainers") or [] if not list(_container("", container))
    }


def _pod(spec: Object) -> Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield f"`spec.{field}` may not be true: pods of a nested cluster do not share the node's namespaces"
    if spec.get("runtimeClassName"):
        yield f"`spec.runtimeClassName` may not be '{spec['runtimeClassName']}': no runtime class is offered here"
    if spec.get("resourceClaims"):
        yield "`spec.resourceClaims` may not be set: dynamic resource allocation is not offered here"
    for sysctl in (spec.get("securityContext") or {}).get("sysctls") or []:
        if sysctl["name"] not in _SYSCTLS:
            yield f"`spec.securityContext.sysctls` must not contain '{sysctl['name']}': only safe ones are allowed"


def _volume(path: str, volume: Object) -> Iterator[str]:
    kind = next((key for key in volume if key != "name"), "emptyDir")
    if kind in _CLAIMS:
        yield f"`{path}.{kind}` may not be set: persistent volumes are not offered here yet"
    elif kind not in _VOLUMES:
        yield f"`{path}.{kind}` may not be set: volumes must be one of {', '.join(sorted(_VOLUMES))}"
    for index, source in enumerate((volume.get("projected") or {}).get("sources") or []):
        for other in source.keys() - _SOURCES:
            yield f"`{path}.projected.sources[{index}].{other}` may not be set: must be one of {', '.join(sorted(_SOURCES))}"


def _container(path: str, container: Object) -> Iterator[str]:
    context = container.get("securityContext") or {}
    if context.get("privileged"):
        yield f"`{path}.securityContext.privileged` may not be true"
    if (context.get("procMount") or "Default") != "Default":
        yield f"`{path}.securityContext.procMount` must be 'Default'"
    for capability in (context.get("capabilities") or {}).get("add") or []:
        if capability.removeprefix("CAP_") not in _CAPABILITIES:
            yield f"`{path}.securityContext.capabilities.add` must not contain '{capability}'"
    yield from _security(f"{path}.securityContext", context)
    for index, port in enumerate(container.get("ports") or []):
        for field in ("hostPort", "hostIP"):
            if port.get(field):
                yield f"`{path}.ports[{index}].{field}` may not be set: use a Service"
    if container.get("volumeDevices"):
        yield f"`{path}.volumeDevices` may not be set: persistent volumes are not offered here yet"
    if (container.get("resources") or {}).get("claims"):
        yield f"`{path}.resources.claims` may not be set: dynamic resource allocation is not offered here"
    yield from _handlers(path, container)


def _handlers(path: str, container: Object) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = {probe: container.get(probe) or {} for probe in ("livenessProbe", "readinessProbe", "startupProbe")}
    handlers |= {f"lifecycle.{hook}": lifecycle.get(hook) or {} for hook in ("postStart", "preStop")}
    for name, handler in handlers.items():
        for action in ("httpGet", "tcpSocket"):
            if (handler.get(action) or {}).get("host"):
                yield f"`{path}.{name}.{action}.host` may not be set: probes reach the pod itself only"


def _security(path: str, context: Object) -> Iterator[str]:
    """The fields that pods and containers have in common."""
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
