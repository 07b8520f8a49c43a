"""The syncer: the operator runs its container in the server pod and probes it; the nested API server calls its kubelet API."""

from nestor.api.contracts import cluster

ACCESS_FOLDER = "/etc/nestor/access"
ACCESS_FILES = (cluster.SYNCER_KUBECONFIG, cluster.KUBELET_CERTIFICATE, cluster.KUBELET_KEY, cluster.CLIENT_AUTHORITY)
"""The keys of the access Secret that are mounted there."""
HEALTH_PORT = 8081
"""Port of /readyz, /healthz and /metrics, and of the path below."""
SERVER_PATH = "/server"
"""Answers 200 while K3s may go on running, and 503 when its container must be restarted."""
KUBELET_PORT = 10250
"""Port of the kubelet API, on the loopback interface."""
METRICS_PORT = 8085
"""Port of the metrics API, at the pod's own address: an API server calls no loopback addresses."""
SERVICES_PORT = 8086
"""Port on the loopback interface where the nested API server asks for addresses of new Services."""

NAMESPACE_VARIABLE = "POD_NAMESPACE"
SERVER_UID_VARIABLE = "POD_UID"
CLUSTER_VARIABLE = "NESTOR_CLUSTER"
DNS_READY_URL_VARIABLE = "NESTOR_DNS_READY_URL"
SERVER_SECONDS_VARIABLE = "NESTOR_SERVER_SECONDS"
"""How long K3s may run before it is restarted, in seconds."""
SERVER_SECONDS = 90 * 24 * 3600
"""Its default. K3s renews its certificates when it starts, if they end within 120 days."""

SEEDS = ("v1.36.3",)
"""The versions of Kubernetes for whose new clusters the syncer has a seed: the data that they all begin with."""
SEED_VARIABLE = "NESTOR_SEED"
"""The one that it writes, if any."""
SEED_FOLDER = "/seed"
SEED_FILE = f"{SEED_FOLDER}/state.db"
"""Where it writes it, and K3s's shell finds it."""
