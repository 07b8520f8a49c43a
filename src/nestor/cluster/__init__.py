"""Creates a nested K3s cluster: certificates, the manifests of its pod and of everything around it, a kubeconfig.

To change what the server's pod has, go to `server` and `coredns`; who may connect, to `policies`; a job's URL, to `exposure`.
Belongs here: pure builders (`certificates`, `server`, `policies` …) and `provision`, which applies what they build. Does not:
what a job adds to a cluster (templates, Ingress, status): that is the operator's.
"""
