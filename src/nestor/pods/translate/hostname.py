"""What the containers of a pod see as their host name: what they would see on a kubelet of the nested cluster.

A kubelet makes the domain of a `subdomain` itself, with the host's namespace in it. `hostnameOverride` may have any form, but is
the whole name: with it, a host name has its dots, and its domain where the pod asks for that. Hosts take it from 1.35 on.
"""

from collections.abc import Iterator

from nestor.api.contracts.cluster import DOMAIN
from nestor.api.objects import Object, find_controller
from nestor.pods.translate.target import Target

_LIMIT = 63


def find_hostname(pod: Object) -> str:
    """The host name without dots, which a host of any version can give the pod."""
    name: str = pod["spec"].get("hostname") or pod["metadata"]["name"].replace(".", "-")
    return name[:_LIMIT].rstrip("-")


def build_hostname(pod: Object, target: Target) -> Object:
    """The fields of the host pod's spec. A pod in the network of its node has none: it has the node's name."""
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return {}
    found: Object = {"hostname": find_hostname(pod)}
    override = spec.get("hostnameOverride") or _find_full(pod)
    return found | ({"hostnameOverride": override} if override and target.has_hostname_override else {})


def find_ignored(pod: Object, target: Target) -> Iterator[str]:
    """What of the host name cannot be as the pod's owner expects."""
    spec, needs = pod["spec"], "the host cluster needs Kubernetes 1.35 or newer for that"
    domain, is_old = _find_domain(pod), not target.has_hostname_override
    if spec.get("hostNetwork"):
        return
    if spec.get("hostnameOverride") and is_old:
        yield f"`spec.hostnameOverride` is '{spec['hostnameOverride']}', but {needs}"
    elif domain and spec.get("setHostnameAsFQDN"):
        full = f"{find_hostname(pod)}.{domain}"
        if is_old or len(full) > _LIMIT:
            why = needs if is_old else f"'{full}' is longer than {_LIMIT} characters"
            yield f"`spec.setHostnameAsFQDN` is true, but the pod's host name has no domain: {why}"
    elif _lacks_domain(pod) and not find_controller(pod, "StatefulSet"):
        yield (
            f"`spec.subdomain` is '{spec['subdomain']}', but in the pod its host name has no domain (`hostname -f`), unless "
            "`spec.setHostnameAsFQDN` is true; its DNS records have"
        )


def find_ignored_of_set(pod: Object) -> tuple[Object, str] | None:
    """What cannot be of the host names of all pods of a StatefulSet, and the set: not its owner but its controller gives each a
    `subdomain`. None where nothing is to be said.
    """
    owner = find_controller(pod, "StatefulSet")
    if not owner or not _lacks_domain(pod):
        return None
    meta = {"name": owner["name"], "uid": owner["uid"], "namespace": pod["metadata"]["namespace"]}
    message = (
        "the host names of its pods have no domain inside them (`hostname -f`), unless `spec.template.spec.setHostnameAsFQDN` "
        f"is true; their DNS records, such as {find_hostname(pod)}.{_find_domain(pod)}, have"
    )
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "metadata": meta}, message


def _lacks_domain(pod: Object) -> bool:
    spec = pod["spec"]
    has_other = any(spec.get(field) for field in ("hostNetwork", "setHostnameAsFQDN", "hostnameOverride"))
    return bool(spec.get("subdomain")) and not has_other


def _find_full(pod: Object) -> str | None:
    """The host name that takes an override, if this pod has one."""
    spec = pod["spec"]
    domain = _find_domain(pod)
    if domain and spec.get("setHostnameAsFQDN"):
        full = f"{find_hostname(pod)}.{domain}"
        return full if len(full) <= _LIMIT else None
    if spec.get("hostname") or "." not in pod["metadata"]["name"]:
        return None
    name: str = pod["metadata"]["name"][:_LIMIT].rstrip("-.")
    return name


def _find_domain(pod: Object) -> str | None:
    subdomain = pod["spec"].get("subdomain")
    return f"{subdomain}.{pod['metadata']['namespace']}.svc.{DOMAIN}" if subdomain else None
