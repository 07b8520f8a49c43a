"""The metrics API (`metrics.k8s.io`) of the nested cluster, for `kubectl top` and HorizontalPodAutoscalers.

What pods use is asked of the host's own metrics API, in the cluster's namespace; `nodes/proxy`, which would show all tenants'
pods, is not needed. The nested API server finds this server through an APIService, by an address of its own pod.
"""
