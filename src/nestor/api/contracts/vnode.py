"""The process of a backend's virtual nodes: the operator runs it, makes its Nodes, and approves its certificates."""

BACKEND_FLAG = "--backend"
"""`nestor vnode --backend NAME`: the OverflowBackend that it serves."""
NAMESPACE_VARIABLE = "POD_NAMESPACE"
"""The operator's namespace, in which the Secrets are that the backend names."""
POD_NAME_VARIABLE = "POD_NAME"
POD_IP_VARIABLE = "POD_IP"
"""Address of its kubelet API, and of all its nodes."""

HEALTH_PORT = 8081
"""Port of /healthz, /readyz and /metrics."""
KUBELET_PORT = 10250
"""Port of the kubelet API of all its nodes, on the pod's address."""

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
"""Signs the certificate by which it acts as one of its nodes."""
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
"""Signs the certificate of its kubelet API."""
NODE_USER_PREFIX = "system:node:"
"""With the node's name: the subject's common name in both."""
NODE_GROUP = "system:nodes"
"""The subject's only organization in both."""
CLIENT_USAGES = (
    frozenset({"key encipherment", "digital signature", "client auth"}),
    frozenset({"digital signature", "client auth"}),
)
"""The usages that a request for a client certificate may have: of an RSA key, and of any other."""
SERVING_USAGES = (
    frozenset({"key encipherment", "digital signature", "server auth"}),
    frozenset({"digital signature", "server auth"}),
)
"""The same for a serving certificate."""
REQUEST_LIMIT = 16 * 1024
"""Maximum size of a certificate request, in bytes."""
CERTIFICATE_SECONDS = 24 * 3600
"""The longest life that is asked for, and approved. Whoever steals a certificate has it for so long; and for a part of it, the
operator may be away without the nodes losing theirs.
"""
RESERVED_CONFIG_MAP = "nestor-virtual-nodes"
"""In the operator's namespace: the names of nodes that somebody may hold a certificate for. The admission policies of the chart
read it.
"""

AUTHENTICATION_NAMESPACE = "kube-system"
AUTHENTICATION_CONFIG_MAP = "extension-apiserver-authentication"
AUTHENTICATION_KEY = "client-ca-file"
"""The ConfigMap, and its key, with the authorities that sign the API server's own client certificate."""

IDENTITY_FOLDER = "/run/nestor/vnode"
"""Where it keeps its certificates and keys, so that a container that starts again has them: an `emptyDir` in memory."""

SENT = "nestor.dev/Sent"
"""Condition of a host pod on a virtual node: True from before the pod is sent to the backend until it is certainly not there."""
SENDING = "Sending"
"""Its reason until the backend has accepted the pod: whether it has got it is not known."""
ACCEPTED = "Accepted"
BOUNCED = "BouncedBack"
"""Reason of a pod, and of this condition, that the backend has not started in time, so that it was taken back."""
