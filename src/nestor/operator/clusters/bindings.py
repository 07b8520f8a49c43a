"""ClusterRoleBindings of users' clusters that are gone: they are in no namespace, so nothing but the operator deletes them.

The finalizer of such a cluster is its user's to remove, also while the operator is not there to see it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable

from nestor import names
from nestor.api import labels
from nestor.cluster.access import NODES_ROLE
from nestor.kube import ApiError, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.objects import Object, labels_of
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)


async def keep_bindings(context: Context, delays: Iterable[float] | None = None) -> None:
    """Delete what was left behind, once at the start and periodically afterwards."""
    for delay in delays or itertools.chain((0,), itertools.repeat(RESYNC_SECONDS)):
        await asyncio.sleep(delay)
        try:
            await _sweep(context)
        except ApiError as error:
            log.info("cannot look for bindings of clusters that are gone: %s", error)


async def _sweep(context: Context) -> None:
    found = await context.api.list(kinds.CLUSTER_ROLE_BINDING, labels=f"{labels.MANAGED_BY}=nestor,{labels.CLUSTER}")
    used = _find_names(context.cache.clusters)
    for binding in found:
        meta, namespace = binding["metadata"], _find_namespace(binding)
        if namespace is None or meta["name"] in used:
            continue
        if meta["name"] not in _find_names(await context.api.list(kinds.NESTED_CLUSTER, namespace)):
            log.warning("deleting ClusterRoleBinding %s: its NestedCluster in %s no longer exists", meta["name"], namespace)
            await context.api.delete(kinds.CLUSTER_ROLE_BINDING, meta["name"], uid=meta["uid"])


def _find_names(clusters: Iterable[Object]) -> set[str]:
    """The names of these clusters' bindings. An earlier cluster with the same name has another."""
    found = (item["metadata"] for item in clusters)
    return {names.nodes_binding(meta["namespace"], meta["name"], meta["uid"]) for meta in found}


def _find_namespace(binding: Object) -> str | None:
    """Where the user's cluster is that the binding is for. None if it is a job's, or somebody else's."""
    subjects = binding.get("subjects") or []
    if labels.JOB_UID in labels_of(binding) or binding["roleRef"]["name"] != NODES_ROLE or len(subjects) != 1:
        return None
    return subjects[0].get("namespace") or None
