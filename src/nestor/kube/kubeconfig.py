"""Kubeconfigs that somebody else has written, built anew from the fields that are used, each of them checked. Pure.

A kubeconfig can name commands to run and files to read: client libraries obey on the machine of whoever opens it.
"""

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Collection
from typing import Any

from nestor.api.objects import Object

SIZE_LIMIT = 2**16
"""Bytes of a kubeconfig; those of Nestor have about 4,000."""

_BRACKETS = 200
"""That YAML may have, which takes very long to read when they are nested."""
_BODY = rb"-----\n[A-Za-z0-9+/=\n]+-----END "
_CERTIFICATES = re.compile(rb"(-----BEGIN CERTIFICATE" + _BODY + rb"CERTIFICATE-----\n*)+")
_KEY = re.compile(rb"-----BEGIN ((?:EC |RSA )?PRIVATE KEY)" + _BODY + rb"\1-----\n*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_SERVER = rf"https://(?:{_HOST.pattern}|\[(?P<v6>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{{1,5}}))?"
_LINK_LOCAL = re.compile(r"https://(?:169\.254\.|\[[fF][eE][89abAB])")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,16384}")

_CLUSTER = {"server", "certificate-authority-data", "tls-server-name"}
_CERTIFICATE = {"client-certificate-data", "client-key-data"}
_IGNORED = {"preferences", "extensions", "namespace"}
"""What clients keep for themselves, or what somebody else decides."""
_NAME = "remote"


class Refused(ValueError):
    """The message names the field and says what is wrong with it."""


def read_other(text: str) -> Object:
    """The current context of another cluster's kubeconfig, in YAML or JSON, with what it uses. Raises `Refused`."""
    content = _parse(text)
    context = _find(content, "contexts", "context", content.get("current-context"))
    _check_keys(context, "context", {"cluster", "user"} | _IGNORED)
    cluster = _find(content, "clusters", "cluster", context.get("cluster"))
    user = _find(content, "users", "user", context.get("user"))
    _check_keys(cluster, "cluster", _CLUSTER | _IGNORED)
    _check_keys(user, "user", _CERTIFICATE | {"token"} | _IGNORED)
    return build(_check_cluster(cluster), _check_user(user))


def build_with_token(server: str, authority: str) -> Object:
    """A kubeconfig for a server whose URL is checked already, and a token that comes later. `authority`: PEM, or empty."""
    cluster: Object = {"server": server.rstrip("/")}
    if authority := authority.replace("\r\n", "\n").strip():
        if not _CERTIFICATES.fullmatch(authority.encode()):
            raise Refused("the certificate authorities must be certificates in PEM form")
        cluster["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    return build(cluster, {"token": "-"})


def build(cluster: Object, user: Object, name: str = _NAME, user_name: str = _NAME) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user_name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user_name}}],
    }


def check_server(value: Any, path: str, *, with_path: bool = False) -> str:
    """The URL of an API server. `with_path`: as a proxy before several of them may have it. Raises `Refused`."""
    form = rf"(?:{_SERVER})" + (r"(?:/[A-Za-z0-9._~-]+)*/?" if with_path else "/?")
    found = re.fullmatch(form, value) if isinstance(value, str) else None
    is_plain = found is not None and not {".", ".."} & set(found[0].split("/"))
    if found and is_plain and int(found["port"] or 443) in range(1, 65536) and _is_v6(found["v6"] or "::"):
        return found[0]
    raise Refused(f"`{path}` must be https://HOST or https://HOST:PORT")


def check_host(value: Any, path: str) -> str:
    """A host name. Raises `Refused`."""
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise Refused(f"`{path}` must be a host name")
    return value


def check_pem(found: Object, path: str, key: str) -> str:
    """Certificates in PEM form, or, by the key's name, a private key; in base64's one spelling. Raises `Refused`."""
    form, what = (_KEY, "a private key") if key.endswith("-key-data") else (_CERTIFICATES, "certificates")
    value = found.get(key)
    try:
        content = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        content = b""
    if not form.fullmatch(content):
        raise Refused(f"`{path}{key}` must be {what} in PEM form, in base64")
    return base64.b64encode(content).decode()


def _parse(text: str) -> Object:
    if len(text) > SIZE_LIMIT:
        raise Refused(f"the kubeconfig must not have more than {SIZE_LIMIT} characters")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = _parse_yaml(text)
    if not isinstance(content, dict):
        raise Refused("the kubeconfig must be YAML or JSON")
    return content


def _parse_yaml(text: str) -> Any:
    if sum(text.count(mark) for mark in "[{") > _BRACKETS:
        return None
    import yaml  # noqa: PLC0415 - most kubeconfigs that Nestor reads are JSON

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _find(content: Object, part: str, inner: str, name: Any) -> Object:
    entries = content.get(part)
    for entry in entries if isinstance(entries, list) and isinstance(name, str) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(inner), dict):
            found: Object = entry[inner]
            return found
    raise Refused(f"the kubeconfig's current context needs an entry in `{part}`")


def _check_keys(found: Object, path: str, known: Collection[str]) -> None:
    for key in found:
        if key not in known:
            raise Refused(f"the kubeconfig's `{path}.{str(key)[:60]}` may not be set: only data in the file itself is used")


def _check_cluster(cluster: Object) -> Object:
    server = check_server(cluster.get("server"), "cluster.server", with_path=True).rstrip("/")
    if _LINK_LOCAL.match(server):
        raise Refused("`cluster.server` must not be a link-local address: those are of the cloud's metadata services")
    checked: Object = {"server": server}
    if "certificate-authority-data" in cluster:
        checked["certificate-authority-data"] = check_pem(cluster, "cluster.", "certificate-authority-data")
    if "tls-server-name" in cluster:
        checked["tls-server-name"] = check_host(cluster["tls-server-name"], "cluster.tls-server-name")
    return checked


def _check_user(user: Object) -> Object:
    if "token" in user:
        if _CERTIFICATE & user.keys():
            raise Refused("the kubeconfig's `user` must have a token or a certificate, not both")
        if not isinstance(user["token"], str) or not _TOKEN.fullmatch(user["token"]):
            raise Refused("the kubeconfig's `user.token` must be a token")
        return {"token": user["token"]}
    return {
        "client-certificate-data": check_pem(user, "user.", "client-certificate-data"),
        "client-key-data": check_pem(user, "user.", "client-key-data"),
    }


def _is_v6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
