"""The K3s container: what it runs, how it is started and what it may use."""

from nestor.api.base import Resources
from nestor.api.contracts import syncer
from nestor.api.contracts.cluster import API_PORT, DOMAIN
from nestor.api.names import DATA_VOLUME, SERVER_CONTAINER
from nestor.api.objects import Object
from nestor.api.quantities import find_larger
from nestor.cluster import pki
from nestor.cluster.home import probe
from nestor.cluster.shape import Shape, choose_cluster_cidr

SEED_VOLUME = "seed"
DATA_FOLDER = "/var/lib/rancher/k3s"
TLS_FOLDER = f"{DATA_FOLDER}/server/tls"
CLIENTS_FOLDER = "/etc/nestor/clients"
TOKEN_FILE = "/etc/nestor/token"  # noqa: S105 - a path
DEFAULT_RESOURCES: Object = {"requests": {"cpu": "20m", "memory": "320Mi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
DATA_LIMIT = "4Gi"
"""Size of the data volume in the pod: a nested cluster that fills it is ended, not its neighbors on the node."""
EPHEMERAL_LIMIT = "5Gi"
"""For data, logs and everything else that K3s writes. Without a request, as not every node offers any."""
_CONTROLLERS_OFF = (
    "node-lifecycle-controller",
    "node-ipam-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-expander-controller",
)
CONTROLLERS = ",".join(["*", "tokencleaner", *(f"-{name}" for name in _CONTROLLERS_OFF)])
"""Without those for nodes: nodes mirror the host's, which decides on their health and pod ranges. The one that ends pods for
taints runs: it sees `NoExecute` only where tenants have set it (see `nestor.syncer.translate.node`). And without those that
attach and enlarge volumes, which the host does as well.
"""

_TAKE_SEED = f"""\
data={DATA_FOLDER}/server/db n=0
until [ -e $data/state.db ] || [ -e {syncer.SEED_FILE} ] || [ $n = 300 ]; do n=$((n + 1)); sleep 0.1; done
if [ -e {syncer.SEED_FILE} ] && ! [ -e $data/state.db ]; then
  (umask 077; mkdir -p $data && cp {syncer.SEED_FILE} $data/seed && mv $data/seed $data/state.db)
fi
"""
"""For new data, the seed: it is waited for, since the syncer may start later, but not for ever."""
_START = """\
{seed}echo {slack} 2>/dev/null >/proc/self/timerslack_ns
/bin/k3s "$@" & server=$!
trap 'kill -{signal} $server' TERM
wait $server; code=$?
while kill -0 $server 2>/dev/null; do wait $server; code=$?; done
exit $code
"""
"""K3s as the first process would run itself once more, only to look after that. Data of the pod's own, which outlives restarts of
the container alone, needs no orderly end: SQLite loses nothing that it has written."""
_SLACK = 20_000_000
"""By how many nanoseconds the kernel may delay a timer, so that one wake-up serves several: K3s has over 600 timers of 0.1 s."""


def build_container(shape: Shape, api_address: str) -> Object:
    """The K3s container. It runs as root, because K3s requires it, but without capabilities or a way to gain any."""
    files = [(f"{name}{end}", f"{path}{end}") for name, path in pki.AUTHORITIES.items() for end in (".crt", ".key")]
    files.append((pki.SERVICE_KEY, pki.SERVICE_KEY))
    start = {"slack": _SLACK, "signal": "TERM" if shape.persistence else "KILL", "seed": _TAKE_SEED if shape.seed else ""}
    return {
        "name": SERVER_CONTAINER,
        "image": shape.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _START.format(**start), "sh"],
        "args": build_arguments(shape, api_address),
        "ports": [{"name": "https", "containerPort": API_PORT, "protocol": "TCP"}],
        # The syncer answers for K3s: it has the certificate for a health check, and knows when K3s must renew its own. The probe
        # is patient, because it also fails while the syncer is down, which K3s has to survive.
        "livenessProbe": probe(syncer.SERVER_PATH, syncer.HEALTH_PORT, after=60, every=30, within=5, failures=20),
        "resources": _limit_storage(build_resources(shape.policy.cluster.resources, DEFAULT_RESOURCES)),
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": DATA_VOLUME, "mountPath": DATA_FOLDER},
            # Mounted one by one, because K3s writes its own certificates into the same folder.
            *({"name": "pki", "subPath": key, "mountPath": f"{TLS_FOLDER}/{path}", "readOnly": True} for key, path in files),
            {"name": "pki", "subPath": pki.TOKEN, "mountPath": TOKEN_FILE, "readOnly": True},
            {"name": "trusted-clients", "mountPath": CLIENTS_FOLDER, "readOnly": True},
            *([{"name": SEED_VOLUME, "mountPath": syncer.SEED_FOLDER, "readOnly": True}] if shape.seed else []),
        ],
    }


def build_arguments(shape: Shape, api_address: str) -> list[str]:
    """K3s's command line: only a control plane; the syncer adds nodes and runs the pods."""
    return [
        "server",
        "--disable-agent",
        "--disable-scheduler",
        "--disable-cloud-controller",
        "--disable-network-policy",
        "--disable-kube-proxy",
        "--disable-helm-controller",
        "--flannel-backend=none",
        "--egress-selector-mode=disabled",
        "--disable=coredns,servicelb,traefik,local-storage,metrics-server",
        f"--data-dir={DATA_FOLDER}",
        f"--https-listen-port={API_PORT}",
        f"--service-cidr={','.join(shape.host.service_cidrs)}",
        f"--cluster-cidr={choose_cluster_cidr(shape.host.service_cidrs)}",
        f"--cluster-domain={DOMAIN}",
        f"--token-file={TOKEN_FILE}",
        f"--tls-san={api_address}",
        f"--tls-san={shape.server_host}",
        "--write-kubeconfig-mode=600",
        "--kube-apiserver-arg=kubelet-preferred-address-types=InternalDNS,InternalIP",
        # Webhooks and aggregated APIs are called at their endpoints. For servers without an agent, K3s leaves that off and calls
        # the Service's ClusterIP, which headless Services lack and which is another one until the host has confirmed it.
        "--kube-apiserver-arg=enable-aggregator-routing=true",
        # One server has no others to know.
        "--kube-apiserver-arg=feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
        # With it, a list after a write of another kind waits up to a second: until kine 0.16 looks again whether there is more.
        "--kube-apiserver-arg=watch-cache=false",
        f"--kube-apiserver-arg=client-ca-file={CLIENTS_FOLDER}/{pki.TRUSTED_CLIENTS}",
        f"--kube-controller-manager-arg=controllers={CONTROLLERS}",
        # By default, the controllers' clients are throttled to 20 requests a second, most of which their own start uses up. The
        # `default` ServiceAccount, without which no pod can be created, would then exist after 5 s instead of 0.7 s.
        "--kube-controller-manager-arg=kube-api-qps=300",
        "--kube-controller-manager-arg=kube-api-burst=400",
    ]


def build_resources(chosen: Resources | None, default: Object) -> Object:
    """Requests and limits, each falling back to its default; our own pods always have both."""
    if chosen is None:
        return default
    return {"requests": _strings(chosen.requests) or default["requests"], "limits": _strings(chosen.limits) or default["limits"]}


def _limit_storage(resources: Object) -> Object:
    """With a limit of ephemeral storage, unless the class sets one; never below what it requests."""
    requests = {"ephemeral-storage": "0"} | resources["requests"]
    limit = find_larger(EPHEMERAL_LIMIT, requests["ephemeral-storage"])
    return {"requests": requests, "limits": {"ephemeral-storage": limit} | resources["limits"]}


def _strings(quantities: dict[str, str | int] | None) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in (quantities or {}).items()}
