"""One node of the embedded cluster: container runtime, kubelet and kube-proxy, in pid, mount, uts and ipc namespaces of its own.

Belongs here: everything that a cluster has once per node. What it has once (control plane, registry, Ingress) is in
`devcluster.cluster`, whose supervisor starts the nodes.
"""
