"""The hosts of a job's targets: derived from their names, or requested by the job."""

import re
from collections.abc import Callable, Container

from nestor.api import names
from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy


def choose_host(name: str, namespace: str, wanted: str | None, policy: ExposePolicy, *, is_shared: bool = False) -> str | None:
    """The host of a job's first target: the requested one, otherwise the default host below the class's domain.

    None if the requested host is not allowed, or there is no domain. `is_shared`: its label may be that of another namespace's
    job too.
    """
    if wanted:
        return wanted if is_allowed(wanted, policy) else None
    return names.default_host(name, namespace, policy.domain, is_shared=is_shared) if policy.domain else None


def is_default(host: str, name: str, namespace: str, policy: ExposePolicy, *, is_shared: bool = False) -> bool:
    """Whether this is the job's default host below its class's domain, which nobody else may take.

    Only below that domain: job names may end with another namespace's name, so outside it the older job owns the host.
    """
    return policy.domain is not None and host == names.default_host(name, namespace, policy.domain, is_shared=is_shared)


def may_be_further(host: str, name: str, namespace: str, policy: ExposePolicy) -> bool:
    """Whether a job may have this host by its name for a further target; one that was cut is not recognized."""
    return policy.domain is not None and host.endswith(f"--{name}-{namespace}".replace(".", "-") + f".{policy.domain}")


def is_allowed(host: str, policy: ExposePolicy) -> bool:
    """Whether jobs of the class may request this host: one below its domain, or one that it lists."""
    patterns = _list_allowed(policy)
    return any(host.endswith(item[1:]) if item.startswith("*.") else host == item for item in patterns)


def explain_not_allowed(host: str, class_name: str, policy: ExposePolicy) -> str:
    """A message that says which hosts are allowed instead."""
    known = ", ".join(f"'{item}'" for item in _list_allowed(policy)) or "none (it has neither `expose.domain` nor `allowedHosts`)"
    return f"`expose.host` '{host}' is not allowed by class '{class_name}'; allowed: {known}"


def _list_allowed(policy: ExposePolicy) -> list[str]:
    return [*([f"*.{policy.domain}"] if policy.domain else []), *policy.allowed_hosts]


def choose_prefix(target: Target, taken: Container[str], build: Callable[[str], str]) -> str:
    """The prefix of an additional target's host: its Service's name, followed by the port if that host is `taken`. `build` makes
    a host of a prefix.

    Labels of a reserved form are avoided: names of two letters always get the port (`ui--hello` would be reserved), and
    `my--app` loses a dash and gets a hash.
    """
    service, port = target.service_name, target.service_port
    for prefix in (service, f"{service}-{port}"):
        if not _is_reserved(f"{prefix}--") and build(prefix) not in taken:
            return prefix
    readable = re.sub("-+", "-", service) if _is_reserved(service) else service
    return f"{readable}-{names.digest(target.service_namespace, service, str(port))}"


def _is_reserved(label: str) -> bool:
    """Labels with dashes in positions 3 and 4 are reserved (RFC 5890); certificate authorities reject them."""
    return label[2:4] == "--"


def further_host(prefix: str, name: str, namespace: str, domain: str, *, is_shared: bool = False) -> str:
    """The host of an additional target, `<service>--<job>-<namespace>.<domain>`: one label, so that a wildcard certificate for
    `*.<domain>` and a wildcard DNS entry cover it too. Long and shared labels are cut and made unique by a hash.
    """
    label = f"{prefix}--{name}-{namespace}".replace(".", "-")
    if is_shared or len(label) > names.LABEL_LIMIT:
        label = names.join_limited([f"{prefix}--{name}", namespace], names.digest(prefix, name, namespace))
    return f"{label}.{domain}"
