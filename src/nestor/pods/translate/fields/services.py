"""Services, network policies and disruption budgets."""

from nestor.pods.translate.fields.rule import Rule, Table, table

NODE_PORTS = Rule("Class", "services.nodePorts, services.loadBalancers")
"""Load balancers have node ports, too."""
BALANCERS = Rule("Class", "services.loadBalancers")
BALANCER_CLASSES = Rule("Class", "services.loadBalancerClasses")

SERVICE_SPEC = table(
    "internalTrafficPolicy publishNotReadyAddresses sessionAffinity sessionAffinityConfig trafficDistribution",
    "clusterIP clusterIPs healthCheckNodePort ipFamilies ipFamilyPolicy ports selector",
    type=NODE_PORTS,
    externalTrafficPolicy=NODE_PORTS,
    allocateLoadBalancerNodePorts=BALANCERS,
    loadBalancerClass=BALANCER_CLASSES,
    loadBalancerSourceRanges=BALANCERS,
    externalIPs=Rule("Ignore", "external addresses are not supported"),
    loadBalancerIP=Rule("Ignore", "load balancers choose their address themselves"),
    externalName=Rule("Own", "the nested cluster's DNS answers it"),
)
SERVICE_PORT = table("appProtocol name port protocol targetPort", nodePort=NODE_PORTS)
BUDGET_SPEC = table("unhealthyPodEvictionPolicy", "maxUnavailable minAvailable selector")

TABLES: dict[str, Table] = {
    "ServiceSpec": SERVICE_SPEC,
    "ServicePort": SERVICE_PORT,
    "SessionAffinityConfig": table("clientIP"),
    "ClientIPConfig": table("timeoutSeconds"),
    "NetworkPolicySpec": table("policyTypes", "egress ingress podSelector"),
    "NetworkPolicyEgressRule": table("ports", "to"),
    "NetworkPolicyIngressRule": table("ports", "from"),
    "NetworkPolicyPeer": table("", "ipBlock namespaceSelector podSelector"),
    "NetworkPolicyPort": table("endPort port protocol"),
    "PodDisruptionBudgetSpec": BUDGET_SPEC,
    "IPBlock": table("", "cidr except"),
}
