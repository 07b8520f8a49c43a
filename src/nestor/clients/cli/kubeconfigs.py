"""Kubeconfigs of nested clusters, as `credentials` builds them: pointed elsewhere, merged into the user's own. Pure."""

from __future__ import annotations

import copy
from urllib.parse import urlsplit

from nestor.api.objects import Object

TLS_SERVER_NAME = "kubernetes"
"""A name that every nested API server's certificate has."""


def server_address(content: Object) -> tuple[str, int]:
    """Host and port of the API server."""
    parts = urlsplit(content["clusters"][0]["cluster"]["server"])
    return parts.hostname or "", parts.port or 443


def with_server(content: Object, url: str) -> Object:
    """The same cluster, reached by another address; the certificate is still checked for its own name."""
    result = copy.deepcopy(content)
    cluster = result["clusters"][0]["cluster"]
    cluster["server"] = url
    cluster.setdefault("tls-server-name", TLS_SERVER_NAME)
    return result


def renamed(content: Object, name: str) -> Object:
    """The same, with cluster, user and context all called `name`."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{**content["clusters"][0], "name": name}],
        "users": [{**content["users"][0], "name": name}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def merged(mine: Object, nested: Object, *, use: bool) -> Object:
    """The user's kubeconfig with the nested cluster's entries, which replace those of the same name; all else stays."""
    result = {"apiVersion": "v1", "kind": "Config", **mine}
    for part in ("clusters", "users", "contexts"):
        names = {item["name"] for item in nested[part]}
        kept = [item for item in mine.get(part) or () if item.get("name") not in names]
        result[part] = kept + nested[part]
    if use or not mine.get("current-context"):
        result["current-context"] = nested["current-context"]
    return result


def context_name(job: Object) -> str:
    """The context's name for a job."""
    return f"nestor-{job['metadata']['namespace']}-{job['metadata']['name']}"
