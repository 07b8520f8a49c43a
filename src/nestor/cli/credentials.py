"""The kubeconfig in a job's Secret, built anew from the five fields of it that are used, each of them checked. Pure.

Whoever may edit the Secret's namespace can write it, and a kubeconfig can name commands to run and files to read: client
libraries obey on the machine of whoever opens it.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import re
from typing import Any

from nestor.cli.exits import Failure
from nestor.kube.applier import RESYNC_SECONDS
from nestor.objects import Object

SIZE_LIMIT = 2**16
"""Bytes of a kubeconfig; those of Nestor have about 4,000."""

_NAME = "nested"
_USER = "nestor:admin"
_BODY = rb"-----\n[A-Za-z0-9+/=\n]+-----END "
_CERTIFICATES = re.compile(rb"(-----BEGIN CERTIFICATE" + _BODY + rb"CERTIFICATE-----\n*)+")
_KEY = re.compile(rb"-----BEGIN ((?:EC |RSA )?PRIVATE KEY)" + _BODY + rb"\1-----\n*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_SERVER = re.compile(rf"https://(?:{_HOST.pattern}|\[(?P<v6>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{{1,5}}))?/?")


class _Tampered(Exception):
    """The message names the field and says what is wrong with it."""


def read_secret(secret: Object) -> Object:
    """A kubeconfig that is safe to use. Raises `Failure` when there is none, or when it is not as Nestor writes it."""
    meta = secret["metadata"]
    where = f"Secret '{meta['name']}'" + (f" in namespace '{meta['namespace']}'" if meta.get("namespace") else "")
    option = f" -n {meta['namespace']}" if meta.get("namespace") else ""
    again = (
        f"`kubectl delete secret {meta['name']}{option}`, and the operator creates it again within {RESYNC_SECONDS // 60} minutes"
    )
    content = _parse((secret.get("data") or {}).get("kubeconfig"))
    if not content:
        raise Failure(f"{where} has no kubeconfig in its key `kubeconfig`", hint=again)
    try:
        return _rebuild(content)
    except _Tampered as found:
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
        "server": _check_server(cluster.get("server"), cluster_path + "server"),
        "certificate-authority-data": _check_pem(cluster, cluster_path, "certificate-authority-data", _CERTIFICATES),
    }
    if "tls-server-name" in cluster:
        checked["tls-server-name"] = _check_host(cluster["tls-server-name"], cluster_path + "tls-server-name")
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": _NAME,
        "clusters": [{"name": _NAME, "cluster": checked}],
        "users": [
            {
                "name": _USER,
                "user": {
                    "client-certificate-data": _check_pem(user, user_path, "client-certificate-data", _CERTIFICATES),
                    "client-key-data": _check_pem(user, user_path, "client-key-data", _KEY),
                },
            }
        ],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _USER}}],
    }


def _check_keys(found: Object, path: str, known: set[str]) -> None:
    for key in found:
        if key not in known:
            raise _Tampered(f"Nestor never writes `{path}{key[:60]}`")


def _take_one(content: Object, part: str, inner: str) -> Object:
    entries = content.get(part)
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        raise _Tampered(f"`{part}` must have exactly one entry")
    _check_keys(entries[0], f"{part}[0].", {"name", inner})
    found = entries[0].get(inner)
    if not isinstance(found, dict):
        raise _Tampered(f"`{part}[0].{inner}` is missing")
    return found


def _check_server(value: Any, path: str) -> str:
    found = _SERVER.fullmatch(value) if isinstance(value, str) else None
    if found and int(found["port"] or 443) in range(1, 65536) and _is_v6(found["v6"] or "::"):
        return found[0]
    raise _Tampered(f"`{path}` must be https://HOST or https://HOST:PORT")


def _is_v6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _check_host(value: Any, path: str) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise _Tampered(f"`{path}` must be a host name")
    return value


def _check_pem(found: Object, path: str, key: str, form: re.Pattern[bytes]) -> str:
    """The same bytes, in base64's one spelling."""
    value = found.get(key)
    try:
        content = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        content = b""
    if not form.fullmatch(content):
        raise _Tampered(f"`{path}{key}` must be {'a private key' if form is _KEY else 'certificates'} in PEM form, in base64")
    return base64.b64encode(content).decode()
