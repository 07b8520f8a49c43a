"""Tells the kubelet API which nested pods there are, and which host pods run them."""

from __future__ import annotations

from functools import partial

from nestor.kube import kinds
from nestor.pods.kubelet.routes import Route
from nestor.pods.kubelet.server import Find, Served
from nestor.pods.translate import messages
from nestor.pods.translate.target import Target
from nestor.syncer.view.caches import Caches


def build_finder(caches: Caches, target: Target) -> Find:
    """A function that finds the host pod of a nested pod. If a call names a UID, it must match."""

    def find(route: Route) -> Served | None:
        nested = caches.nested(kinds.POD).get(route.pod, route.namespace)
        if nested is None or (route.uid and route.uid != nested["metadata"]["uid"]):
            return None
        host = caches.host_by_uid.get(nested["metadata"]["uid"])
        if host is None:
            return None
        return Served(host, partial(messages.translate, words=messages.build_words(nested, target, host)))

    return find
