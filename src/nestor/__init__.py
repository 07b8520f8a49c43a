"""Nestor runs Kubernetes applications as jobs, each in its own nested K3s cluster."""

__version__ = "0.2.0"
IMAGE = "ghcr.io/nestor-dev/nestor"
CHART = "oci://ghcr.io/nestor-dev/charts/nestor"
"""Where releases are published."""
