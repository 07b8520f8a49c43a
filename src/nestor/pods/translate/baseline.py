"""Pod Security level `baseline`: refuses fields that give access to the node, or to other pods on it.

The host namespace enforces the level too. Checking here as well lets the message name the nested field, and covers hosts that
do not enforce it. https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
"""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api.objects import Object

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


def check_pod(spec: Object) -> Iterator[str]:
    """One message per field of the pod itself that the level refuses."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield f"`spec.{field}` may not be true: pods of a nested cluster cannot share the node's namespaces"
    context = spec.get("securityContext") or {}
    for sysctl in context.get("sysctls") or []:
        if sysctl["name"] not in _SYSCTLS:
            yield f"`spec.securityContext.sysctls` must not contain '{sysctl['name']}': only safe sysctls are allowed"
    yield from _security("spec.securityContext", context)


def check_container(path: str, container: Object) -> Iterator[str]:
    """One message per field of a container that the level refuses; `path` is the container's field path."""
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
                yield f"`{path}.ports[{index}].{field}` may not be set: use a Service instead"
    yield from _handlers(path, container)


def _handlers(path: str, container: Object) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = {probe: container.get(probe) or {} for probe in ("livenessProbe", "readinessProbe", "startupProbe")}
    handlers |= {f"lifecycle.{hook}": lifecycle.get(hook) or {} for hook in ("postStart", "preStop")}
    for name, handler in handlers.items():
        for action in ("httpGet", "tcpSocket"):
            if (handler.get(action) or {}).get("host"):
                yield f"`{path}.{name}.{action}.host` may not be set: probes and hooks can only reach the pod itself"


def _security(path: str, context: Object) -> Iterator[str]:
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
