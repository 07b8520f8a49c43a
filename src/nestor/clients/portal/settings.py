"""The settings of the process, from the command line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

PORT = 8080
HEALTH_PORT = 8081


@dataclass(frozen=True)
class Settings:
    """The settings. `kubeconfig` None means the pod's own service account."""

    host: str
    """What browsers have in their address bars."""
    scheme: str
    port: int
    health_port: int
    user_header: str
    groups_header: str
    user_prefix: str
    """What the names of users begin with in the cluster, and the proxy does not say; the same for groups."""
    groups_prefix: str
    groups: tuple[str, ...]
    """The groups that count, with their prefix. The others are left out: a role names those that may be impersonated."""
    kubeconfig: str | None = None


def parse(arguments: list[str]) -> Settings:
    """Read the settings."""
    parser = argparse.ArgumentParser(prog="nestor portal", description="Serve Nestor's pages to an authenticating proxy.")
    parser.add_argument("--host", required=True, help="host of the page's URL, with its port if it has one")
    parser.add_argument("--scheme", choices=("https", "http"), default="https", help="scheme of the page's URL")
    parser.add_argument("--port", type=int, default=PORT, help="port on 127.0.0.1 for the proxy")
    parser.add_argument("--health-port", type=int, default=HEALTH_PORT, help="port of /readyz, /healthz and /metrics")
    parser.add_argument("--user-header", default="X-Forwarded-User", help="header in which the proxy says who the user is")
    parser.add_argument(
        "--groups-header", default="X-Forwarded-Groups", help="header with the user's groups, separated by commas"
    )
    parser.add_argument("--user-prefix", default="", help="what the API server puts before names of users, as oidc:")
    parser.add_argument("--groups-prefix", default="", help="what it puts before names of groups")
    parser.add_argument("--group", dest="groups", action="append", default=[], help="a group that counts; can be repeated")
    parser.add_argument("--kubeconfig", help="kubeconfig instead of the pod's service account")
    found = vars(parser.parse_args(arguments))
    return Settings(**found | {"groups": tuple(found["groups"])})
