"""The nested cluster's DNS: its Corefile, in a ConfigMap, and its container."""

from nestor.api.contracts.cluster import COREDNS_KUBECONFIG, DNS_CERTIFICATE, DNS_KEY, DOMAIN
from nestor.api.names import Part
from nestor.api.objects import Object
from nestor.cluster.home import LOCKED, probe, secret_volume
from nestor.cluster.shape import DNS_PORT, Shape

HEALTH_PORT = 8082
READY_PORT = 8083
KUBECONFIG_FOLDER = "/etc/nestor/coredns"
COREFILE_FOLDER = "/etc/coredns"


def build_corefile(shape: Shape, api_address: str) -> str:
    """Resolves the nested cluster's names. Others are forwarded to the host's resolver, if the class allows the internet at all.

    `kubernetes.default` must resolve to the nested API, at the host address of its Service. Names of the nested cluster are
    not cached: a name must resolve right after its object is created.

    The host cluster's own names stay hidden: its resolver, asked for addresses one by one, would list all its Services.
    """
    if shape.policy.network.internet == "None":
        # Queries would be a way out: each reaches whoever owns the domain.
        own = [DOMAIN, "in-addr.arpa", "ip6.arpa"]
        return _build_block(own, _build_own(own, api_address)) + _build_block(["."], ["errors", *_build_hidden(".")])
    own = [DOMAIN, *shape.closed_ranges]
    hidden = _build_hidden(*(f"{kind}.{shape.host.domain}" for kind in ("svc", "pod"))) if shape.host.domain else []
    return _build_block(["."], [*_build_own(own, api_address), *hidden, "forward . /etc/resolv.conf"])


def _build_own(zones: list[str], api_address: str) -> list[str]:
    return f"""errors
health :{HEALTH_PORT}
ready 127.0.0.1:{READY_PORT}
hosts {{
    {api_address} kubernetes.default.svc.{DOMAIN}
    ttl 5
    no_reverse
    fallthrough
}}
kubernetes {" ".join(zones)} {{
    kubeconfig {KUBECONFIG_FOLDER}/{COREDNS_KUBECONFIG}
    pods verified
    ttl 5
}}
loadbalance
cache 30 {{
    disable success {DOMAIN}
    disable denial {DOMAIN}
}}""".splitlines()


def _build_hidden(*zones: str) -> list[str]:
    return [f"template ANY ANY {' '.join(zones)} {{", "    rcode NXDOMAIN", "}"]


def _build_block(zones: list[str], lines: list[str]) -> str:
    names = " ".join(f"{zone}:{DNS_PORT}" for zone in zones)
    return f"{names} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def build_config_map(shape: Shape, api_address: str) -> Object:
    return {"metadata": shape.metadata(shape.child(Part.COREDNS)), "data": {"Corefile": build_corefile(shape, api_address)}}


def build_container(shape: Shape) -> Object:
    """The CoreDNS container, in the same pod as the API server that it reads."""
    return {
        "name": "coredns",
        "image": shape.core_dns_image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", f"{COREFILE_FOLDER}/Corefile"],
        "ports": [
            {"name": "dns", "containerPort": DNS_PORT, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": DNS_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": probe("/health", HEALTH_PORT, after=60, every=30, within=5, failures=2),
        "resources": {"requests": {"cpu": "2m", "memory": "24Mi"}, "limits": {"cpu": "500m", "memory": "170Mi"}},
        # The official binary has this file capability; without it in the bounding set, the kernel refuses to start it.
        "securityContext": LOCKED | {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
        "volumeMounts": [
            {"name": "corefile", "mountPath": COREFILE_FOLDER, "readOnly": True},
            {"name": "coredns-access", "mountPath": KUBECONFIG_FOLDER, "readOnly": True},
        ],
    }


def build_volumes(shape: Shape) -> list[Object]:
    return [
        {"name": "corefile", "configMap": {"name": shape.child(Part.COREDNS)}},
        secret_volume("coredns-access", shape.child(Part.ACCESS), (COREDNS_KUBECONFIG, DNS_CERTIFICATE, DNS_KEY)),
    ]
