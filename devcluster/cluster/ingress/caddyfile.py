"""Routes as caddy's JSON configuration (https://caddyserver.com/docs/json/). Pure."""

from __future__ import annotations

import base64
import re
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from devcluster.cluster.ingress.routes import ANY_HOST, Path, Routes
from devcluster.cluster.settings import INGRESS_IP, Ports

Json = dict[str, Any]

# Streams (logs, events) must arrive as they are written. Not -1, "at once": caddy 2.6 then cuts the request off when its
# configuration changes, for whatever other host. For the same reason there is no `grace_period`: without one, requests under
# way end on the old configuration in their own time.
FLUSH = "20ms"

NOT_FOUND = "404: no Ingress of this cluster serves this host and path.\n"


def build(routes: Routes, ports: Ports, admin_socket: str) -> Json:
    """The whole configuration; caddy takes it at once or, when it is wrong, keeps the one it has."""
    content = [_host(host, paths) for host, paths in routes.hosts.items()] + [{"handle": [_text(404, NOT_FOUND)]}]
    servers = {"http": _server(ports.http, content, ["h1"])}
    pairs = [pair for pair in map(_decode, routes.certificates) if pair is not None]
    config: Json = {
        "admin": {"listen": f"unix/{admin_socket}", "origins": ["localhost"], "config": {"persist": False}},
        "logging": {"logs": {"default": {"level": "WARN"}}},
        "apps": {"http": {"servers": servers}},
    }
    if pairs:
        servers["https"] = _server(ports.https, content, ["h1", "h2"]) | {"tls_connection_policies": [{}]}
        loaded = [{"certificate": certificate, "key": key} for certificate, key in pairs]
        config["apps"]["tls"] = {"certificates": {"load_pem": loaded}}
    return config


def _server(port: int, content: list[Json], protocols: list[str]) -> Json:
    return {
        "listen": [f"{INGRESS_IP}:{port}"],
        "protocols": protocols,
        "automatic_https": {"disable": True},  # it would ask a public CA for certificates
        "routes": content,
    }


def _host(host: str, paths: list[Path]) -> Json:
    """One host: the first path that fits answers, none is a 404 and not another host's business."""
    inner = [_path(path) for path in paths] + [{"handle": [_text(404, NOT_FOUND)]}]
    matcher = {} if host == ANY_HOST else {"match": [{"host": [host]}]}
    return {**matcher, "handle": [{"handler": "subroute", "routes": inner}], "terminal": True}


def _path(path: Path) -> Json:
    """A path matches whole elements: `/a` is `/a` and `/a/b`, never `/ab`. By expression, since caddy's own path matcher
    ignores case and gives `*` a meaning."""
    matcher: Json = {}
    if (path.match, path.path) != ("Prefix", "/"):
        end = "$" if path.match == "Exact" else "(/|$)"
        matcher = {"match": [{"path_regexp": {"pattern": f"^{re.escape(path.path)}{end}"}}]}
    return {**matcher, "handle": [_backend(path)], "terminal": True}


def _backend(path: Path) -> Json:
    if not path.endpoints:
        return _text(503, f"503: service {path.service} has no ready endpoint.\n")
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": endpoint} for endpoint in path.endpoints],
        "flush_interval": FLUSH,
        # An endpoint that has just ended is still listed for a moment; the next one may do.
        "load_balancing": {"try_duration": "1s", "try_interval": "100ms"},
    }


def _text(status: int, body: str) -> Json:
    headers = {"Content-Type": ["text/plain; charset=utf-8"]}
    return {"handler": "static_response", "status_code": status, "headers": headers, "body": body}


def _decode(pair: tuple[str, str]) -> tuple[str, str] | None:
    """The key pair as PEM text, or None when it is no pair: one broken Secret must not stop every other change."""
    try:
        certificate, key = (base64.b64decode(part, validate=True) for part in pair)
        own = x509.load_pem_x509_certificate(certificate).public_key()
        other = serialization.load_pem_private_key(key, password=None).public_key()
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        if own.public_bytes(*form) != other.public_bytes(*form):
            return None
        return certificate.decode(), key.decode()
    except (ValueError, TypeError):
        return None
