"""The interLink plugin in the embedded cluster: a containerd and `devcluster.plugin` in namespaces of their own, run by order.

It lives in the control plane's network namespace, so that it is reached where the API server is, and pulls images from the
cluster's registry. Belongs here: starting and ending it. What it does is in `devcluster.plugin`.
"""
