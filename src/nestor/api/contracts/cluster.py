"""A nested cluster: its DNS domain, and the keys of the Secret that gives its own processes access to it."""

DOMAIN = "cluster.local"
API_PORT = 6443
"""Port of the API server in its pod."""
READY_PATH = (
    "/readyz?exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes"
)
"""Where it says that it is ready for `system:masters`: two hooks, which make roles and priority classes, sleep a second first."""
ROOT_CA = "kube-root-ca.crt"
"""The ConfigMap of every pod's token volume, which the controllers make in each new namespace."""

RUNNER_KUBECONFIG = "runner.kubeconfig"
SYNCER_KUBECONFIG = "syncer.kubeconfig"
COREDNS_KUBECONFIG = "coredns.kubeconfig"
"""For CoreDNS: through the gate, with the keys in the two files below."""
DNS_CERTIFICATE = "dns.crt"
DNS_KEY = "dns.key"
KUBELET_CERTIFICATE = "kubelet.crt"
KUBELET_KEY = "kubelet.key"
METRICS_HOST = "nestor-metrics.kube-system.svc"
"""Name by which the nested API server calls the metrics API, which the syncer serves."""
KUBELET_HOSTS = ("localhost", "127.0.0.1", METRICS_HOST)
"""Names in the certificate of the kubelet API, which the metrics API has as well."""
CLIENT_AUTHORITY = "client-ca.crt"
"""Certificate authority that signs the clients of the kubelet API."""

ADMIN_GROUP = "nestor:admins"
"""Group of the admin's certificate. The syncer binds it to `cluster-admin`: unlike `system:masters`, it can lose its rights."""
ARGOCD_USER = "nestor:argocd"
"""User of Argo CD's certificate. The syncer gives it the rights that the class allows."""
COREDNS_USER = "nestor:coredns"
"""User of CoreDNS's certificate. The syncer binds it to the permissions that DNS needs."""
GATE_PORT = 8084
"""Loopback port of the syncer by which CoreDNS reaches the nested API server."""
