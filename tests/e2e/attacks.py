"""The attacks of the isolation tests, as data: each is a row of docs/evidence/attacks.md."""

from dataclasses import dataclass
from typing import Any, Literal

METADATA = {
    "metadata-aws-google-azure": "169.254.169.254",
    "metadata-alibaba": "100.100.100.200",
    "metadata-azure-wire": "168.63.129.16",
    "metadata-oracle": "192.0.0.192",
}
PRIVATE, INTERNET = "192.168.77.7", "203.0.113.7"
"""Addresses of the office, and of the internet. A pod of the host stands in for whoever has these, on port 80."""
LISTEN_PORT, UDP_PORT = 8080, 5353
"""Where the pods of the tests listen."""


@dataclass(frozen=True)
class Attack:
    """One attempt that must fail. Texts in braces are facts about the clusters, which the tests fill in."""

    id: str
    says: str
    host: str = ""
    port: str = ""
    kind: Literal["tcp", "udp", "dns"] = "tcp"
    node: str = ""
    """The fact with the name of the node that is attacked. Kubernetes closes no pod off from the node that it runs on."""
    name: str = ""
    type: str = "A"
    but: str = ""
    """A DNS answer is an attack's success only with this address in it."""
    tcp: bool = False
    is_listening: bool = True
    """Whether somebody reaches it at all; what listens on loopback alone, nobody does."""

    def fill(self, facts: dict[str, str]) -> dict[str, Any]:
        """The attempt, as the script in the pod takes it."""
        found: dict[str, Any] = {"id": self.id, "kind": self.kind, "host": self.host.format_map(facts)}
        if self.kind == "dns":
            return found | {
                "name": self.name.format_map(facts),
                "type": self.type,
                "but": self.but.format_map(facts),
                "tcp": self.tcp,
            }
        return found | {"port": int(self.port.format_map(facts))}


def _reverse(fact: str) -> str:
    """The facts hold the name of each address's PTR record, too."""
    return f"{{{fact}_reverse}}"


HOST: tuple[Attack, ...] = (
    Attack("api-service", "the host's API server, at its Service", "{api_service}", "443"),
    Attack("api-endpoint", "the host's API server, at its own address", "{first}", "{api_port}", node="first_node"),
    Attack("api-other-port", "another port of the machine with the API server", "{first}", "5000", node="first_node"),
    Attack("kubelet-first", "the kubelet of the first node", "{first}", "10250", node="first_node"),
    Attack("kubelet-second", "the kubelet of the second node", "{second}", "10250", node="second_node"),
    Attack(
        "node-port-first", "a node port of a stranger's Service, at the first node", "{first}", "{node_port}", node="first_node"
    ),
    Attack("node-port-second", "the same, at the second node", "{second}", "{node_port}", node="second_node"),
    *(Attack(name, f"cloud metadata at {address}", address, "80") for name, address in METADATA.items()),
    Attack("private-range", "a server in a private range of the class", PRIVATE, "80"),
    Attack("operator", "Nestor's operator", "{operator}", "8080"),
    Attack("stranger-pod", "a pod of a user's namespace", "{stranger}", "8080"),
    Attack("stranger-udp", "the same by UDP", "{stranger}", "5353", kind="udp"),
    Attack("stranger-service", "the Service of that pod", "{stranger_service}", "80"),
)
"""What is there in the host cluster besides jobs."""
HOST_DNS: tuple[Attack, ...] = (
    Attack("host-dns-udp", "the host's DNS, by UDP", "{dns_service}", kind="dns", name="{stranger_name}"),
    Attack("host-dns-tcp", "the host's DNS, by TCP", "{dns_service}", kind="dns", name="{stranger_name}", tcp=True),
    Attack("host-dns-pod", "a pod of the host's DNS", "{dns_pod}", kind="dns", name="{stranger_name}"),
    Attack("host-dns-other-port", "another port of that pod", "{dns_pod}", "8080"),
)
NAMES: tuple[Attack, ...] = (
    Attack("name-of-stranger", "the name of a stranger's Service", kind="dns", name="{stranger_name}"),
    Attack("name-of-victim", "the name of another job's Service", kind="dns", name="{victim_name}"),
    Attack(
        "srv-of-stranger", "the SRV record of a stranger's Service", kind="dns", name="_http._tcp.{stranger_name}", type="SRV"
    ),
    Attack("ptr-of-stranger", "who has a stranger's Service address", kind="dns", name=_reverse("stranger_service"), type="PTR"),
    Attack("ptr-of-stranger-pod", "who has a stranger's pod address", kind="dns", name=_reverse("stranger"), type="PTR"),
    Attack(
        "ptr-of-victim", "who has the address of another job's Service", kind="dns", name=_reverse("victim_service"), type="PTR"
    ),
    Attack("ptr-of-dns-pod", "who has the address of the host's DNS pod", kind="dns", name=_reverse("dns_pod"), type="PTR"),
    Attack(
        "name-of-api",
        "the host's API server, by the name that each cluster has for its own",
        kind="dns",
        name="kubernetes.default.svc.cluster.local",
        but="{api_service}",
    ),
)
"""Asked of the nested cluster's own DNS, the only one that its pods reach."""
VICTIM: tuple[Attack, ...] = (
    Attack("victim-pod", "a pod of another job", "{victim}", "8080"),
    Attack("victim-udp", "the same by UDP", "{victim}", "5353", kind="udp"),
    Attack("victim-service", "a Service of another job", "{victim_service}", "80"),
    Attack("victim-api-pod", "another job's API server, at its pod", "{victim_server}", "6443"),
    Attack("victim-api-service", "another job's API server, at its Service", "{victim_api}", "443"),
    Attack("victim-dns-pod", "another job's DNS, at its pod", "{victim_server}", "1053"),
    Attack("victim-dns-service", "another job's DNS, at its Service", "{victim_dns}", "53"),
    Attack("victim-syncer", "the syncer of another job", "{victim_server}", "8081"),
    Attack("victim-coredns", "the health port of another job's CoreDNS", "{victim_server}", "8082"),
)
"""What belongs to another job."""
OWN: tuple[Attack, ...] = (
    Attack("own-syncer", "the health port of its own cluster's syncer", "{own_server}", "8081"),
    Attack("own-coredns", "the health port of its own cluster's CoreDNS", "{own_server}", "8082"),
    Attack("own-kubelet-api", "the kubelet API of its own cluster's syncer", "{own_server}", "10250", is_listening=False),
    Attack("own-gate", "the port by which CoreDNS reaches its API server", "{own_server}", "8084", is_listening=False),
    Attack("own-controllers", "the controllers of its own cluster's K3s", "{own_server}", "10257", is_listening=False),
    Attack("own-datastore", "the data store of its own cluster's K3s", "{own_server}", "2379", is_listening=False),
)
"""Ports of the attacker's own server that are none of its business."""
NO_INTERNET: tuple[Attack, ...] = (Attack("internet", "the internet, under `internet: None`", INTERNET, "80"),)

APP: tuple[Attack, ...] = (*HOST, *HOST_DNS, *NAMES, *VICTIM, *OWN)
"""From an app pod, as root in its container, of a job that may use the internet."""
RUNNER: tuple[Attack, ...] = (*HOST, *HOST_DNS, *NAMES, *VICTIM, *NO_INTERNET)
"""From the runner of a job that may not."""
CLOSED: tuple[Attack, ...] = NO_INTERNET
"""From an app pod of that job."""
CONTROLLED: tuple[Attack, ...] = (*HOST, *HOST_DNS, *NAMES, *VICTIM, *OWN, *NO_INTERNET)
"""Each of them is tried from outside of jobs, too: what no job reaches is there."""

ADMIN: dict[str, str] = {
    "pod-proxy-stranger": "`pods/proxy` of a pod with a stranger's address",
    "pod-proxy-victim": "`pods/proxy` of a pod with the address of another job's pod",
    "pod-proxy-victim-api": "`pods/proxy` of a pod with the address of another job's API server",
    "pod-proxy-operator": "`pods/proxy` of a pod with the operator's address",
    "pod-proxy-kubelet": "`pods/proxy` of a pod with the address of another node, to its kubelet",
    "pod-proxy-api-host": "`pods/proxy` to another port of the machine with the host's API server",
    "pod-proxy-metadata": "`pods/proxy` of a pod with a metadata address that Kubernetes itself does not know",
    "pod-proxy-link-local": "`pods/proxy` of a pod with 169.254.169.254",
    "pod-proxy-private": "`pods/proxy` of a pod with an address in a private range",
    "pod-proxy-host-api": "`pods/proxy` to the host's API server, for what anonymous may not read",
    "pod-proxy-internet": "`pods/proxy` to the internet, under `internet: None`",
    "node-proxy-stranger": "`nodes/proxy` of a forged Node with a stranger's address",
    "node-proxy-victim": "`nodes/proxy` of a forged Node with the address of another job's pod",
    "node-proxy-metadata": "`nodes/proxy` of a forged Node with a metadata address",
    "service-proxy-stranger": "`services/proxy` to a forged EndpointSlice with a stranger's address",
    "service-proxy-victim": "`services/proxy` to a forged EndpointSlice with the address of another job's pod",
    "service-proxy-operator": "`services/proxy` to a forged EndpointSlice with the operator's address",
    "webhook-stranger": "an admission webhook whose URL is a stranger's",
    "webhook-victim": "an admission webhook whose URL is another job's API server",
    "webhook-kubelet": "an admission webhook whose URL is another node's kubelet",
    "webhook-service": "an admission webhook behind a forged EndpointSlice",
    "apiservice-stranger": "an APIService behind a forged EndpointSlice",
    "forged-endpoints": "forged endpoints as a way for other pods: none reaches the host",
    "token-at-host": "a nested ServiceAccount's token, shown to the host's API server",
    "certificate-at-host": "the nested admin's certificate, shown to the host's API server",
    "certificate-at-victim": "the nested admin's certificate, shown to another job's API server",
    "labels-of-components": "labels of Nestor's own components, and of the host's DNS, on a pod",
    "policy-allow-all": "a nested NetworkPolicy that allows everything",
}
"""By the admin of a nested cluster, through its API server; what happens is in the test of that name."""
