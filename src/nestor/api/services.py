"""What the Services of nested clusters may do besides connecting their own pods."""

from __future__ import annotations

from typing import Annotated

from nestor.api.base import Cidr
from nestor.api.parts import Limits, field, part

NODE_PORTS = "10"
"""How many a job may have by default, if its class allows them."""
LOAD_BALANCERS = "2"

LoadBalancerClass = Annotated[str, Limits(min_length=1, max_length=316)]


@part()
class ServicesPolicy:
    """Which Services of jobs may reach outside their nested cluster, or be reached from there."""

    node_ports: bool = field(
        default=False,
        description="Whether Services may be of type NodePort. The network policies then let traffic from anywhere in to the "
        "pods of such a Service, at its ports. NetworkPolicies of the nested cluster may close that, and open nothing else to "
        "the outside. Node ports come from the range that all of the host cluster shares: with this or `loadBalancers`, "
        f"`namespace.quota` has `services.nodeports: {NODE_PORTS}` as a default, not 0. Defaults to false.",
    )
    load_balancers: bool = field(
        default=False,
        description="Whether Services may be of type LoadBalancer. Their addresses are shown in the nested cluster, and the "
        "network policies allow traffic as for node ports, which load balancers have as well unless the Service says otherwise. "
        f"`namespace.quota` then has a default of `services.loadbalancers: {LOAD_BALANCERS}` instead of 0. Defaults to false.",
    )
    load_balancer_classes: list[LoadBalancerClass] = field(
        default_factory=list,
        description="What Services may have as `loadBalancerClass`, such as `example.com/internal`. Those that name none get the "
        "host cluster's default. If not set, none may name any.",
        max_length=32,
    )
    endpoint_ranges: list[Cidr] = field(
        default_factory=list,
        description="Addresses that Services without a selector may send traffic to, in addition to the cluster's own pods: "
        "users write them in EndpointSlices and Endpoints. Never allowed, even if a range contains them, are the addresses "
        "that `network` closes, and those of metadata services, of the host cluster's Services and its API server. If not "
        "set, there are none.",
        max_length=64,
    )


@part()
class AllowedServices(ServicesPolicy):
    """The same, resolved for one cluster."""

    closed_ranges: list[Cidr] = field(
        default_factory=list,
        description="What no Service may send traffic to, even if `endpointRanges` contain it. Not set if there are none.",
        max_length=256,
    )
