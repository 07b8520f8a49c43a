"""What the Ingresses ask for: for each host an ordered list of paths, each with the endpoints that serve it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from devcluster.cluster import settings

Object = Mapping[str, Any]
ANY_HOST = ""


@dataclass(frozen=True)
class Path:
    """One path of a host. `endpoints` are `ip:port`; none means that nobody is ready to answer."""

    path: str
    match: Literal["Exact", "Prefix"]
    service: str
    endpoints: tuple[str, ...]


@dataclass
class World:
    """The objects that routes are made of."""

    ingresses: Iterable[Object] = ()
    services: Iterable[Object] = ()
    slices: Iterable[Object] = ()
    secrets: Iterable[Object] = ()


@dataclass(frozen=True)
class Routes:
    """The answer: `hosts` in the order in which they must be tried, and the TLS key pairs (certificate, key) as PEM."""

    hosts: dict[str, list[Path]] = field(default_factory=dict)
    certificates: list[tuple[str, str]] = field(default_factory=list)


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


def build(world: World) -> Routes:
    """The routes of all our Ingresses."""
    backends = Backends(world.services, world.slices)
    found: dict[str, dict[tuple[str, str], Path]] = {}
    ours = by_age(world.ingresses)
    for ingress in ours:
        for host, path in _paths(ingress, backends):
            found.setdefault(host, {}).setdefault((path.match, path.path), path)
    hosts = {host: sorted(found[host].values(), key=_path_order) for host in sorted(found, key=_host_order)}
    return Routes(hosts, _certificates(ours, world.secrets))


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


def _paths(ingress: Object, backends: Backends) -> Iterable[tuple[str, Path]]:
    namespace = ingress["metadata"]["namespace"]

    def path(text: str, match: Literal["Exact", "Prefix"], backend: Object) -> Path:
        name = (backend.get("service") or {}).get("name", "?")
        return Path(text, match, f"{namespace}/{name}", backends.endpoints(namespace, backend))

    for rule in ingress["spec"].get("rules") or ():
        for item in (rule.get("http") or {}).get("paths") or ():
            text = item.get("path") or "/"
            if item.get("pathType") == "Exact":
                yield rule.get("host") or ANY_HOST, path(text, "Exact", item["backend"])
            else:  # "ImplementationSpecific" is ours to define: a prefix
                yield rule.get("host") or ANY_HOST, path(text.rstrip("/") or "/", "Prefix", item["backend"])
    if backend := ingress["spec"].get("defaultBackend"):
        yield ANY_HOST, path("/", "Prefix", backend)


def _certificates(ingresses: Iterable[Object], secrets: Iterable[Object]) -> list[tuple[str, str]]:
    """The key pairs that our Ingresses name, each once. Kept base64-free and unchecked here; see `caddyfile`."""
    wanted = {
        (ingress["metadata"]["namespace"], entry.get("secretName"))
        for ingress in ingresses
        for entry in ingress["spec"].get("tls") or ()
    }
    data = [secret.get("data") or {} for secret in sorted(secrets, key=_key) if _key(secret) in wanted]
    return [(item["tls.crt"], item["tls.key"]) for item in data if item.get("tls.crt") and item.get("tls.key")]


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


def _host_order(host: str) -> tuple[int, int, str]:
    """Full names, then wildcards (longest first), then "any host"."""
    return (2 if host == ANY_HOST else 1 if host.startswith("*") else 0), -len(host), host
