"""Whose kubelet the syncer is: nested pods, by the host pods that run them."""

from __future__ import annotations

from functools import partial

from nestor.kube import kinds
from nestor.kubelet.routes import Route
from nestor.kubelet.server import Find, Served
from nestor.syncer.view.caches import Caches
from nestor.translate import messages
from nestor.translate.target import Target


def build_finder(caches: Caches, target: Target) -> Find:
    """Finds the host pod of a nested one. A call that names a UID is about that very pod."""

    def find(route: Route) -> Served | None:
        nested = caches.nested(kinds.POD).get(route.pod, route.namespace)
        if nested is None or (route.uid and route.uid != nested["metadata"]["uid"]):
            return None
        host = caches.host_by_uid.get(nested["metadata"]["uid"])
        if host is None:
            return None
        return Served(host, partial(messages.translate, words=messages.build_words(nested, target, host)))

    return find
