"""The annotations that one target of an admitted job gets."""

from __future__ import annotations

from nestor.api import names
from nestor.api.expose import ExposePolicy
from nestor.cluster.exposure.annotations import build_annotations, speaks_https
from nestor.cluster.exposure.routes import Route
from nestor.kube import kinds
from nestor.operator.admission.admit import Resolved
from nestor.operator.world.cache import Cache


def find_policy(cache: Cache, resolved: Resolved, route: Route) -> ExposePolicy:
    """The class's policy, with the annotations that this target gets."""
    policy, own = resolved.policy.expose, resolved.spec.expose.annotations if resolved.spec.expose else None
    facts = {"job": resolved.name, "namespace": resolved.namespace, "class": resolved.class_name, "host": route.host or ""}
    name = names.host_name(route.target.service_name, route.target.service_namespace)
    service = cache.find(kinds.SERVICE, name, resolved.home.namespace)
    found = build_annotations(policy, facts, own, is_https=speaks_https(service, route.target.service_port))
    return policy.model_copy(update={"annotations": found or None})
