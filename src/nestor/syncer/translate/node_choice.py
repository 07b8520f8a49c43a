"""Which of the host's nodes a nested cluster shows although no pod of it is there, by what its class says."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.api.policy import Policy
from nestor.pods.translate.node_rules import find_backend


def find_selector(policy: Policy) -> str | None:
    """The label selector by which to ask for the nodes to show; None if only those in use are shown."""
    if policy.nodes is None:
        return None
    return ",".join([*(f"{key}={value}" for key, value in sorted(policy.places.node_selector.items())), f"!{labels.BACKEND}"])


def is_shown(node: Object, policy: Policy) -> bool:
    """Whether a node is shown although no pod of the cluster is there: the class shows it, and lets pods run on it."""
    is_allowed = policy.places.node_selector.items() <= labels_of(node).items()
    return policy.nodes is not None and is_allowed and find_backend(node, policy.places) is None
