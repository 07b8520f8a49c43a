"""A nested K3s, from nothing to a kubeconfig: certificates, manifests of its own pod and what surrounds it.

Belongs here: pure builders (`certificates`, `server`, `policies` …) and `provision`, which applies what they build. Does not:
what a job adds to a cluster (templates, Ingress, status), which is the operator's.
"""
