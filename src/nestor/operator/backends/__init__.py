"""OverflowBackends: the process that serves each one, its virtual nodes in the host cluster, and their certificates.

Belongs here: what the host cluster has of a backend. Does not: talking to backends, and running pods there; `nestor vnode` does.
"""
