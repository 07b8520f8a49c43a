"""Gives back the processor time with which a nested cluster has started."""

from __future__ import annotations

import contextlib

from nestor.api import names, pod_status
from nestor.cluster.boost import give_back
from nestor.cluster.home import Home
from nestor.cluster.server import list_containers
from nestor.kube import Forbidden, Invalid, NotFound, kinds
from nestor.operator.admission.admit import Resolved
from nestor.operator.clusters.homes import build_shape
from nestor.operator.guest import Guest


class StartBoost(Guest):
    """The server's pods that are ready."""

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        context, name = self._context, names.server_pod(home.name)
        pod = context.cache.find(kinds.POD, name, home.namespace)
        if pod is None or not pod_status.is_ready(pod):
            return
        patch = give_back(pod, list_containers(build_shape(context, resolved.cluster, home, resolved.policy)))
        if patch is not None:
            # Where the host lets no pod be resized, it asks for more than it needs, as long as it runs.
            with contextlib.suppress(Forbidden, Invalid, NotFound):
                await context.api.patch(kinds.POD, name, home.namespace, patch, subresource="resize", how="strategic")
