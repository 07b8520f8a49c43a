"""What the Ingresses ask for: for each host an ordered list of paths, each with the endpoints that serve it. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from devcluster.cluster import settings

Object = Mapping[str, Any]
ANY_HOST = ""
PROTOCOL = "nginx.ingress.kubernetes.io/backend-protocol"


@dataclass(frozen=True)
class Path:
    """One path of a host. `endpoints` are `ip:port`; none means that nobody is ready to answer."""

    path: str
    match: Literal["Exact", "Prefix"]
    service: str
    endpoints: tuple[str, ...]
    is_secure: bool = False
    """The endpoints speak HTTPS. Their certificates are not checked, as ingress-nginx does it."""


@dataclass
class World:
    """The objects that routes are made of."""

    ingresses: Iterable[Object] = ()
    services: Iterable[Object] = ()
    slices: Iterable[Object] = ()


def is_ours(ingress: Object) -> bool:
    """Whether the Ingress is of our class. One without a class is, as ours is the cluster's default class."""
    legacy = (ingress["metadata"].get("annotations") or {}).get("kubernetes.io/ingress.class")
    return (ingress["spec"].get("ingressClassName") or legacy or settings.INGRESS_CLASS) == settings.INGRESS_CLASS


def by_age(ingresses: Iterable[Object]) -> list[Object]:
    """Our Ingresses, oldest first: who asked first for a host and path keeps it."""

    def age(ingress: Object) -> tuple[str, str, str]:
        meta = ingress["metadata"]
        return meta.get("creationTimestamp") or "", meta["namespace"], meta["name"]

    return sorted((ingress for ingress in ingresses if is_ours(ingress)), key=age)


def host_order(host: str) -> tuple[int, int, str]:
    """Full names, then wildcards (longest first), then "any host"."""
    return (2 if host == ANY_HOST else 1 if host.startswith("*") else 0), -len(host), host


def build(world: World) -> dict[str, list[Path]]:
    """The paths of each host, hosts and paths in the order in which they must be tried."""
    backends = Backends(world.services, world.slices)
    found: dict[str, dict[tuple[str, str], Path]] = {}
    ours = by_age(world.ingresses)
    # Default backends come last: they take what no rule of any Ingress asked for.
    for list_paths in (_rule_paths, _default_paths):
        for ingress in ours:
            for host, path in list_paths(ingress, backends):
                found.setdefault(host, {}).setdefault((path.match, path.path), path)
    return {host: sorted(found[host].values(), key=_path_order) for host in sorted(found, key=host_order)}


class Backends:
    """Finds the ready endpoints of an Ingress backend."""

    def __init__(self, services: Iterable[Object], slices: Iterable[Object]) -> None:
        self._services = {_key(service): service for service in services}
        self._slices: dict[tuple[str, str], list[Object]] = {}
        for item in slices:
            owner = (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name", "")
            self._slices.setdefault((item["metadata"]["namespace"], owner), []).append(item)

    def endpoints(self, namespace: str, backend: Object) -> tuple[str, ...]:
        """`ip:port` of every ready endpoint; none when the service, its port or its endpoints are missing."""
        wanted = backend.get("service") or {}
        key = (namespace, wanted.get("name", ""))
        port = _service_port(self._services.get(key), wanted.get("port") or {})
        if port is None:
            return ()
        found: set[str] = set()
        for item in self._slices.get(key, ()):
            if item.get("addressType") != "IPv4":
                continue
            numbers = [each["port"] for each in item.get("ports") or () if (each.get("name") or "") == port]
            addresses = [address for each in item.get("endpoints") or () if _is_ready(each) for address in each["addresses"]]
            found |= {f"{address}:{number}" for address in addresses for number in numbers}
        return tuple(sorted(found))


def _rule_paths(ingress: Object, backends: Backends) -> Iterator[tuple[str, Path]]:
    for rule in ingress["spec"].get("rules") or ():
        for item in (rule.get("http") or {}).get("paths") or ():
            text = item.get("path") or "/"
            host = rule.get("host") or ANY_HOST
            if item.get("pathType") == "Exact":
                yield host, _path(ingress, backends, item["backend"], text, "Exact")
            else:  # "ImplementationSpecific" is ours to define: a prefix
                yield host, _path(ingress, backends, item["backend"], text.rstrip("/") or "/")


def _default_paths(ingress: Object, backends: Backends) -> Iterator[tuple[str, Path]]:
    """The default backend, for the rest of the Ingress's own hosts and for hosts that nobody named."""
    if backend := ingress["spec"].get("defaultBackend"):
        for host in (*(rule.get("host") or ANY_HOST for rule in ingress["spec"].get("rules") or ()), ANY_HOST):
            yield host, _path(ingress, backends, backend)


def _path(
    ingress: Object, backends: Backends, backend: Object, text: str = "/", match: Literal["Exact", "Prefix"] = "Prefix"
) -> Path:
    namespace = ingress["metadata"]["namespace"]
    name = (backend.get("service") or {}).get("name", "?")
    is_secure = (ingress["metadata"].get("annotations") or {}).get(PROTOCOL) == "HTTPS"
    return Path(text, match, f"{namespace}/{name}", backends.endpoints(namespace, backend), is_secure)


def _service_port(service: Object | None, wanted: Object) -> str | None:
    """Name ("" when unnamed) of the service port that the backend means; None when there is none."""
    for port in ((service or {}).get("spec") or {}).get("ports") or ():
        name: str = port.get("name") or ""
        if wanted.get("number") == port["port"] or (wanted.get("name") and wanted["name"] == name):
            return name
    return None


def _is_ready(endpoint: Object) -> bool:
    """An endpoint that says nothing about its readiness counts as ready, as the API's documentation demands."""
    return (endpoint.get("conditions") or {}).get("ready") is not False


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _path_order(path: Path) -> tuple[int, int, str]:
    """Longest first; for one path, the exact match before the prefix."""
    return -len(path.path), 0 if path.match == "Exact" else 1, path.path
