"""Backends: where pods go that do not fit in the host cluster.

`vnode` is the process of a backend's virtual nodes, the kubelet of pods that run elsewhere; `interlink` and `remote` are the
kinds of backends; `statuses` reads what either says of containers. A third kind implements `Backend` of
`pods/providers/base.py`, and gets a line in `vnode/backend/factory.py`.
"""
