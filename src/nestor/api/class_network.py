"""What a class says about the network: what applications may connect to, and who may connect to nested API servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nestor.api.base import Cidr, check_cidr, rule, rules
from nestor.api.model import BY_PROFILE, Model
from nestor.api.parts import Limits

PRIVATE_RANGES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]


def _check_peer(value: str) -> str:
    return check_cidr(value) if "/" in value else value


ANYWHERE = "*"
"""Namespaces of the host cluster that belong to no job."""
Peer = Annotated[
    str,
    Limits(
        min_length=1,
        max_length=63,
        json_schema_extra=rules(
            rule(
                "self == '*' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') || isCIDR(self)",
                "must be a namespace such as 'ingress-nginx', an address range such as '10.0.0.0/8', or '*' for all "
                "namespaces that belong to no job",
            )
        ),
    ),
    Limits(check=_check_peer),
]
"""From where traffic may come."""


class NetworkPolicyModel(Model):
    """What the application may connect to, besides its own pods, its DNS and its own API server; and who may connect to that."""

    internet: Literal["Public", "None"] = Field(
        "Public",
        description="`Public`: any address outside `privateRanges`, except the cloud's metadata address and the "
        "host's API server. `None`: no address outside the nested cluster, and no names from outside. Only the nested API "
        "server still looks up names in the host's DNS, such as those in the URLs of webhooks: the admin of the nested "
        "cluster can send a little data out that way. Defaults to `Public`.",
    )
    private_ranges: list[Cidr] = Field(
        default=PRIVATE_RANGES,
        description="Address ranges that the application may not connect to, such as the office or data center network and "
        "the host cluster's own. Defaults to the private ranges of RFC 1918 and RFC 6598, and under `profile: Trusted` to "
        "only the host cluster's own.",
        max_length=64,
        json_schema_extra=BY_PROFILE,
    )
    api_from: list[Peer] = Field(
        default_factory=list,
        description="From where the nested API servers may be reached, in addition to their own pods and `kubectl "
        "port-forward`: namespaces, by name; address ranges, such as that of users' machines which have a route to the "
        "host's Services; and `*` for all namespaces that belong to no job. Defaults to `*` alone.",
        max_length=32,
    )
    unenforced: Literal["Refuse", "Warn", "Accept"] = Field(
        "Warn",
        description="What happens to a job on a host cluster that does not enforce NetworkPolicies, where nothing isolates "
        "it from other jobs, the host's API server and the cloud's metadata. The class's condition `NetworkEnforced` says "
        "what the operator's probe has found. `Refuse`: no job is admitted until the cluster is known to enforce them, hence "
        "none at all without the probe (`operator.networkProbe: false` in the chart's values); jobs that run stay. `Warn`: "
        "condition `Admitted` of each job reports it, with the reason `NetworkNotEnforced`. `Accept`: no report. Defaults to "
        "`Refuse`; to `Warn` under `profile: Evaluation`, and `Accept` under `Trusted`.",
        json_schema_extra=BY_PROFILE,
    )
