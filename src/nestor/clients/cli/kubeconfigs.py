"""Kubeconfigs of nested clusters: built anew from a job's Secret, pointed elsewhere, merged into the user's own.

Of what is in the Secret, five fields are used, each of them checked: whoever may edit the Secret's namespace can write it, and a
kubeconfig can name commands to run and files to read, which client libraries obey on the machine of whoever opens it.
"""

import base64
import json
from typing import Any
from urllib.parse import urlsplit

from nestor.api.objects import Object, status_of
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.view.facts import address, describe_cluster
from nestor.kube import Api, NotFound, kinds, kubeconfig
from nestor.kube.applier import RESYNC_SECONDS
from nestor.kube.kubeconfig import SIZE_LIMIT, Refused

_NAME = "nested"
_USER = "nestor:admin"
TLS_SERVER_NAME = "kubernetes"
"""A name that every nested API server's certificate has."""


async def read(api: Api, job: Object) -> Object:
    """The job's admin kubeconfig, if the user may see it. Raises `Failure` while there is none."""
    meta, secret = job["metadata"], status_of(job).get("kubeconfigSecretName")
    missing = Failure(
        f"job '{meta['name']}' has no cluster yet: {describe_cluster(job)}",
        hint=f"`nestor status {address(job)} --follow` waits for it",
    )
    if not secret:
        raise missing
    try:
        return read_secret(await api.get(kinds.SECRET, secret, meta["namespace"]))
    except NotFound:
        raise missing from None


def read_secret(secret: Object) -> Object:
    """A kubeconfig that is safe to use. Raises `Failure` when there is none, or when it is not as Nestor writes it."""
    meta = secret["metadata"]
    where = f"Secret '{meta['name']}' in namespace '{meta['namespace']}'"
    delete = f"kubectl delete secret {meta['name']} -n {meta['namespace']}"
    again = f"`{delete}`, and the operator creates it again within {RESYNC_SECONDS // 60} minutes"
    content = _parse((secret.get("data") or {}).get("kubeconfig"))
    if not content:
        raise Failure(f"{where} has no kubeconfig in its key `kubeconfig`", hint=again)
    try:
        return _rebuild(content)
    except Refused as found:
        raise Failure(
            f"{where} was tampered with: {found}. Nothing in it was used", hint=f"find out who changed it, then {again}"
        ) from None


def _parse(encoded: Any) -> Object | None:
    """The operator writes JSON, which has no aliases to grow by; whatever else YAML allows is not its work."""
    if not isinstance(encoded, str) or len(encoded) > SIZE_LIMIT * 4 // 3:
        return None
    try:
        content = json.loads(base64.b64decode(encoded, validate=True).decode())
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _rebuild(content: Object) -> Object:
    _check_keys(content, "", {"apiVersion", "kind", "clusters", "users", "contexts", "current-context"})
    cluster = _take_one(content, "clusters", "cluster")
    user = _take_one(content, "users", "user")
    context = _take_one(content, "contexts", "context")
    cluster_path, user_path = "clusters[0].cluster.", "users[0].user."
    _check_keys(cluster, cluster_path, {"server", "certificate-authority-data", "tls-server-name"})
    _check_keys(user, user_path, {"client-certificate-data", "client-key-data"})
    _check_keys(context, "contexts[0].context.", {"cluster", "user"})
    checked: Object = {
        "server": kubeconfig.check_server(cluster.get("server"), cluster_path + "server"),
        "certificate-authority-data": kubeconfig.check_pem(cluster, cluster_path, "certificate-authority-data"),
    }
    if "tls-server-name" in cluster:
        checked["tls-server-name"] = kubeconfig.check_host(cluster["tls-server-name"], cluster_path + "tls-server-name")
    credentials = {
        "client-certificate-data": kubeconfig.check_pem(user, user_path, "client-certificate-data"),
        "client-key-data": kubeconfig.check_pem(user, user_path, "client-key-data"),
    }
    return kubeconfig.build(checked, credentials, _NAME, _USER)


def _check_keys(found: Object, path: str, known: set[str]) -> None:
    for key in found:
        if key not in known:
            raise Refused(f"Nestor never writes `{path}{key[:60]}`")


def _take_one(content: Object, part: str, inner: str) -> Object:
    entries = content.get(part)
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise Refused(f"`{part}` must have exactly one entry")
    _check_keys(entries[0], f"{part}[0].", {"name", inner})
    found = entries[0].get(inner)
    if not isinstance(found, dict):
        raise Refused(f"`{part}[0].{inner}` is missing")
    return found


def server_address(content: Object) -> tuple[str, int]:
    parts = urlsplit(content["clusters"][0]["cluster"]["server"])
    return parts.hostname or "", parts.port or 443


def with_server(content: Object, url: str) -> Object:
    """The same cluster, reached by another address; the certificate is still checked for its own name."""
    cluster = {"tls-server-name": TLS_SERVER_NAME, **content["clusters"][0]["cluster"], "server": url}
    return kubeconfig.build(cluster, content["users"][0]["user"], _NAME, _USER)


def renamed(content: Object, name: str) -> Object:
    """The same, with cluster, user and context all called `name`."""
    return kubeconfig.build(content["clusters"][0]["cluster"], content["users"][0]["user"], name, name)


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
    return f"nestor-{job['metadata']['namespace']}-{job['metadata']['name']}"
