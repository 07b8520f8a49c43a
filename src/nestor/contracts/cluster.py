"""A nested cluster: its DNS domain, and the keys of the Secret with which its own processes open it."""

from __future__ import annotations

DOMAIN = "cluster.local"

RUNNER_KUBECONFIG = "runner.kubeconfig"
SYNCER_KUBECONFIG = "syncer.kubeconfig"
COREDNS_KUBECONFIG = "coredns.kubeconfig"
KUBELET_CERTIFICATE = "kubelet.crt"
KUBELET_KEY = "kubelet.key"
CLIENT_AUTHORITY = "client-ca.crt"
"""Certificate authority of the clients that the kubelet API accepts."""
