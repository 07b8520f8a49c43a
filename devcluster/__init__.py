"""A real Kubernetes on a bare Linux machine, for developing and testing Nestor: no Docker, no registry, no cluster needed.

`devcluster.build` makes the binaries and images, `devcluster.cluster` runs them. Nothing of this is needed where a cluster and
an image registry exist already.
"""
