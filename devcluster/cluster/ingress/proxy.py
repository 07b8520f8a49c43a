"""Tells the proxy (`devcluster/go/kube/cmd/ingress-proxy`) which host and path is served by whom, and with which certificates."""

import json
from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

import aiohttp

from devcluster.cluster.ingress.routes import Path
from devcluster.cluster.ingress.tls import Certificate

PROXY_SECONDS = 15.0


class Refused(Exception):
    """The proxy did not take a table."""


def table(hosts: Mapping[str, list[Path]], certificates: Mapping[str, Certificate]) -> dict[str, Any]:
    """The whole table, as the proxy reads it. Pure."""
    served: dict[tuple[str, str], list[str]] = {}
    for host, certificate in certificates.items():
        served.setdefault((certificate.chain, certificate.key), []).append(host)
    return {
        "hosts": {host: [_path(path) for path in paths] for host, paths in hosts.items()},
        "certificates": [{"hosts": names, "chain": chain, "key": key} for (chain, key), names in served.items()],
    }


def _path(path: Path) -> dict[str, Any]:
    return {
        "path": path.path,
        "exact": path.match == "Exact",
        "service": path.service,
        "endpoints": path.endpoints,
        "secure": path.is_secure,
    }


async def load(socket: File, wanted: dict[str, Any]) -> None:
    """Give the proxy a whole new table; it takes it at once, or keeps the one it has. Raises `Refused` with its reason."""
    connector, timeout = aiohttp.UnixConnector(str(socket)), aiohttp.ClientTimeout(total=PROXY_SECONDS)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
        session.put("http://localhost/", data=json.dumps(wanted)) as answer,
    ):
        if answer.status != 204:
            raise Refused(f"ingress-proxy: {(await answer.text())[:500]}")
