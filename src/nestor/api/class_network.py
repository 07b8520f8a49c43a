"""What a class says about the network: what applications may connect to, and who may connect to nested API servers."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from nestor.api.base import Cidr, rule, rules
from nestor.api.model import Model
from nestor.api.policies import IpBlock
from nestor.api.selectors import LabelSelector

PRIVATE_RANGES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]


class Peer(Model):
    """Where traffic may come from, as in a NetworkPolicy."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.ipBlock) != (has(self.namespaceSelector) || has(self.podSelector))",
                "either `ipBlock` or selectors must be set: `namespaceSelector`, `podSelector` or both",
            )
        )
    )

    namespace_selector: LabelSelector | None = Field(None, description="Namespaces of the host cluster.")
    pod_selector: LabelSelector | None = Field(None, description="Pods in the selected namespaces.")
    ip_block: IpBlock | None = Field(None, description="Address range, for an Ingress controller on the host network.")


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
        description="Address ranges that the application may not connect to, such as the office or data center "
        "network and the host cluster's own. Defaults to the private ranges of RFC 1918 and RFC 6598.",
        max_length=64,
    )
    api_from: list[Peer] = Field(
        default_factory=list,
        description="From where the nested API servers may be reached, besides their own pods and by `kubectl port-forward`. "
        "Users whose machines have a route to the host's Services need an `ipBlock`. If not set, they may be reached from any "
        "namespace that does not belong to a job.",
        max_length=32,
    )
    unenforced: Literal["Refuse", "Warn", "Accept"] = Field(
        "Warn",
        description="What a job gets on a host cluster that does not enforce NetworkPolicies, where nothing keeps it from other "
        "jobs, the host's API server and the cloud's metadata. The class's condition `NetworkEnforced` says what the operator's "
        "probe has found. `Refuse`: no job is admitted until the cluster is known to enforce them, hence none at all without "
        "the probe (`operator.networkProbe: false` in the chart's values); jobs that run stay. `Warn`: condition "
        "`Admitted` of each job says so, with the reason `NetworkNotEnforced`. `Accept`: nothing more is said. "
        "Defaults to `Warn`.",
    )
