"""The syncer: the operator makes its container in the server's pod and probes it; the nested API server calls its kubelet API."""

from __future__ import annotations

from nestor.contracts import cluster

ACCESS_FOLDER = "/etc/nestor/access"
ACCESS_FILES = (cluster.SYNCER_KUBECONFIG, cluster.KUBELET_CERTIFICATE, cluster.KUBELET_KEY, cluster.CLIENT_AUTHORITY)
"""The keys of the access Secret that are mounted there."""
HEALTH_PORT = 8081
"""/readyz, /healthz and /metrics."""
KUBELET_PORT = 10250
"""Kubelet API, on the loopback interface."""

NAMESPACE_VARIABLE = "POD_NAMESPACE"
SERVER_UID_VARIABLE = "POD_UID"
CLUSTER_VARIABLE = "NESTOR_CLUSTER"
DNS_READY_URL_VARIABLE = "NESTOR_DNS_READY_URL"
