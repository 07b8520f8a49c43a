"""Services, network policies and disruption budgets."""

from __future__ import annotations

from nestor.translate.fields.rule import Rule, Table, table

_NODE_PORTS = Rule("Class", "services.nodePorts")
_BALANCERS = Rule("Class", "services.loadBalancers")

SERVICE_SPEC = table(
    "internalTrafficPolicy ipFamilies ipFamilyPolicy publishNotReadyAddresses sessionAffinity sessionAffinityConfig "
    "trafficDistribution",
    "clusterIP clusterIPs ports selector",
    type=_NODE_PORTS,
    externalTrafficPolicy=_NODE_PORTS,
    allocateLoadBalancerNodePorts=_BALANCERS,
    healthCheckNodePort=_BALANCERS,
    loadBalancerClass=Rule("Class", "services.loadBalancerClasses"),
    loadBalancerSourceRanges=_BALANCERS,
    externalIPs=Rule("Ignore", "external addresses are not supported"),
    loadBalancerIP=Rule("Ignore", "load balancers choose their address themselves"),
    externalName=Rule("Own", "the nested cluster's DNS answers it"),
)

TABLES: dict[str, Table] = {
    "ServiceSpec": SERVICE_SPEC,
    "ServicePort": table("appProtocol name port protocol targetPort", nodePort=_NODE_PORTS),
    "SessionAffinityConfig": table("clientIP"),
    "ClientIPConfig": table("timeoutSeconds"),
    "NetworkPolicySpec": table("policyTypes", "egress ingress podSelector"),
    "NetworkPolicyEgressRule": table("ports", "to"),
    "NetworkPolicyIngressRule": table("ports", "from"),
    "NetworkPolicyPeer": table("", "ipBlock namespaceSelector podSelector"),
    "NetworkPolicyPort": table("endPort port protocol"),
    "PodDisruptionBudgetSpec": table("unhealthyPodEvictionPolicy", "maxUnavailable minAvailable selector"),
    "IPBlock": table("", "cidr except"),
}
"""By type."""
