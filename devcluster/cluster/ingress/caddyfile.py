"""Routes and certificates as caddy's JSON configuration (https://caddyserver.com/docs/json/). Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from devcluster.cluster.ingress.routes import ANY_HOST, Path, host_order
from devcluster.cluster.ingress.tls import Certificate
from devcluster.cluster.settings import INGRESS_IP, Ports

Json = dict[str, Any]

FLUSH = "20ms"
"""Answers of known length arrive this late at most, when they are written slowly; those of unknown length (logs, events) are
passed on as they are written."""

# caddy takes every configuration as a whole, a new one for each change of any Ingress or endpoint, with a new server. What
# began under the old one must not notice.
STREAM_CLOSE_DELAY = "87600h"
"""How long upgraded connections (websockets) stay with the configuration they began under: ten years, so until one of their
ends closes them. Requests under way stay for as long as they last, since there is no `grace_period`."""
SHUTDOWN_DELAY = "250ms"
"""How long an old server, which gets no new connections (see "kept" in devcluster/go/kube/cmd/caddy), awaits the first
request on those that it just got; afterwards it closes them. The next configuration waits as long, too."""
LEAVE: dict[str, Any] = {
    "match": [{"vars": {"{http.shutting_down}": ["true"]}, "not": [{"header": {"Upgrade": ["*"]}}]}],
    "handle": [{"handler": "headers", "response": {"set": {"Connection": ["close"]}}}],
}
"""Meanwhile it tells its clients to come back by a new connection; when it closes one itself, a request may be on its way."""

NOT_FOUND = "404: no Ingress of this cluster serves this host and path.\n"


def build(hosts: Mapping[str, list[Path]], certificates: Mapping[str, Certificate], ports: Ports, admin_socket: str) -> Json:
    """The whole configuration; caddy takes it at once or, when it is wrong, keeps the one it has."""
    content = [LEAVE, *(_host(host, paths) for host, paths in hosts.items()), {"handle": [_text(404, NOT_FOUND)]}]
    pairs = {_tag(certificate): certificate for certificate in certificates.values()}
    loaded = [{"certificate": pairs[tag].chain, "key": pairs[tag].key, "tags": [tag]} for tag in sorted(pairs)]
    return {
        "admin": {"listen": f"unix/{admin_socket}", "origins": ["localhost"], "config": {"persist": False}},
        # Without "admin", which warns at each configuration that its socket is one.
        "logging": {"logs": {"default": {"level": "WARN", "exclude": ["admin"]}}},
        "apps": {
            "http": {
                "shutdown_delay": SHUTDOWN_DELAY,
                "servers": {
                    "http": _server(ports.http, content, ["h1"]),
                    "https": _server(ports.https, content, ["h1", "h2"]) | _tls(certificates),
                },
            },
            "tls": {"certificates": {"load_pem": loaded}},
        },
    }


def _server(port: int, content: list[Json], protocols: list[str]) -> Json:
    return {
        "listen": [f"kept/{INGRESS_IP}:{port}"],
        "protocols": protocols,
        "automatic_https": {"disable": True},  # it would ask a public CA for certificates
        "routes": content,
    }


def _tls(certificates: Mapping[str, Certificate]) -> Json:
    """Each host with the certificate of its own Secret; without one, the handshake fails. A request for another host than
    its connection was made to is refused, so that only hosts with a certificate are served."""
    policies: list[Json] = [
        {"match": {"sni": [host]}, "certificate_selection": {"any_tag": [_tag(certificates[host])]}}
        for host in sorted(certificates, key=host_order)
    ]
    nobody: Json = {}  # an empty list would mean plain HTTP
    return {"tls_connection_policies": policies or [nobody], "strict_sni_host": True}


def _tag(certificate: Certificate) -> str:
    return hashlib.sha256(f"{certificate.chain}\n{certificate.key}".encode()).hexdigest()[:16]


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
    """The proxy passes `Host` on as it came and sets `X-Forwarded-For`, `-Host` and `-Proto` by itself."""
    if not path.endpoints:
        return _text(503, f"503: service {path.service} has no ready endpoint.\n")
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": endpoint} for endpoint in path.endpoints],
        "flush_interval": FLUSH,
        "stream_close_delay": STREAM_CLOSE_DELAY,
        # An endpoint that has just ended is still listed for a moment; the next one may do.
        "load_balancing": {"try_duration": "1s", "try_interval": "100ms"},
    }


def _text(status: int, body: str) -> Json:
    headers = {"Content-Type": ["text/plain; charset=utf-8"]}
    return {"handler": "static_response", "status_code": status, "headers": headers, "body": body}
