"""Maps paths and queries of the kubelet API to pod subresources of an API server. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Subresource = Literal["log", "exec", "attach", "portforward"]
Query = Mapping[str, list[str]]

_SUBRESOURCES: dict[str, Subresource] = {"containerLogs": "log", "exec": "exec", "attach": "attach", "portForward": "portforward"}
_STREAMS = {"input": "stdin", "output": "stdout", "error": "stderr", "tty": "tty"}
_LOG_OPTIONS = ("follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes", "stream")


@dataclass(frozen=True)
class Route:
    subresource: Subresource
    namespace: str
    pod: str
    uid: str | None
    container: str | None


def find_route(method: str, path: list[str]) -> Route | None:
    """The call that a path stands for, or None. Kubelet paths look like `/exec/<namespace>/<pod>[/<uid>]/<container>`."""
    if not path or path[0] not in _SUBRESOURCES:
        return None
    subresource = _SUBRESOURCES[path[0]]
    if method not in (("GET",) if subresource == "log" else ("GET", "POST")):
        return None
    namespace, pod, *rest = path[1:] if len(path) >= 3 else ("", "")
    has_container = subresource != "portforward"
    if not namespace or len(rest) not in ((1, 2) if has_container else (0, 1)):
        return None
    container = rest.pop() if has_container else None
    if subresource == "log" and rest:  # the kubelet has no such path
        return None
    return Route(subresource, namespace, pod, rest[0] if rest else None, container)


def build_query(route: Route, query: Query) -> list[tuple[str, str]]:
    result = [("container", route.container)] if route.container else []
    if route.subresource == "log":
        return result + [(name, query[name][0]) for name in _LOG_OPTIONS if query.get(name)]
    if route.subresource == "portforward":
        return [("ports", value) for value in query.get("port", []) + query.get("ports", [])]
    for short, name in _STREAMS.items():
        if any(value in ("1", "true") for value in query.get(short, []) + query.get(name, [])):
            result.append((name, "true"))
    commands = query.get("command", []) if route.subresource == "exec" else []
    return list(dict.fromkeys(result)) + [("command", value) for value in commands]
