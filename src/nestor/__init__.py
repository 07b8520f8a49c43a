"""Nestor runs Kubernetes applications as jobs, each in its own nested K3s cluster."""

__version__ = "0.2.0"
