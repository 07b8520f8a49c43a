"""What a syncer consists of, by what it watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from nestor.kube import kinds
from nestor.kube.kinds import right
from nestor.syncer import parts
from nestor.syncer.copies.rows import find_rows
from nestor.syncer.settings import Settings
from nestor.syncer.view.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.at_work import build_context
from tests.unit.test_rbac import read_verbs

CLUSTER = {"metadata": {"name": "hello", "namespace": TARGET.namespace}, "spec": {}}
SHADOWS = {kinds.PERSISTENT_VOLUME, kinds.VOLUME_SNAPSHOT_CONTENT}
"""What the nested cluster has of the host's, whose own nobody reads."""
SETTINGS = Settings(TARGET.namespace, "hello", Path())


@pytest.fixture
def context() -> Context:
    return build_context(MemoryApi(), MemoryApi())


async def test_roles_allow_exactly_what_rows_provider_and_controllers_say_that_they_need(context: Context) -> None:
    built = parts.build(context, CLUSTER, SETTINGS)
    listed = [right(informer.kind, "list", "watch") for informer in context.caches.host_side]
    needed: dict[bool, dict[str, set[str]]] = {True: {}, False: {}}
    for item in (*built.host_rights, *listed):
        resource = f"{item.resource}.{item.kind.group}" if item.kind.group else item.resource
        needed[item.kind.namespaced].setdefault(resource, set()).update(item.verbs)
    assert needed[True] == read_verbs("nestor-syncer")
    assert needed[False] == read_verbs("nestor-syncer-nodes")


async def test_pods_in_the_host_need_these_caches(context: Context) -> None:
    built = parts.build(context, CLUSTER, SETTINGS)
    host, nested = ({informer.kind for informer in side} for side in (context.caches.host_side, context.caches.nested_side))
    both = {kinds.POD, *(row.kind for row in find_rows())} - SHADOWS
    assert host == both | {kinds.NESTED_CLUSTER, kinds.EVENT, kinds.RESOURCE_QUOTA}
    assert nested == both | {kinds.NAMESPACE, kinds.JOB, kinds.CRON_JOB} | SHADOWS
    assert list(built.servers) == [
        "kubelet API",
        "Service webhook",
        "Service webhook's configuration",
        "not synced",
        "metrics API",
    ]


async def test_whatever_has_work_runs(context: Context) -> None:
    """A queue that no list names would fill and never be worked off."""
    built = parts.build(context, CLUSTER, SETTINGS)
    copies = {row.name or row.kind.plural for row in find_rows()}
    pods = {"pods", "pod-creations", "tokens", "events", "suspended-jobs", "gang-groups"}
    assert set(built.queues) == copies | pods | {"outcome", "cluster-status", "not-carried", "argocd", "definitions"}


async def test_a_cache_that_is_asked_for_too_late_is_a_mistake(context: Context) -> None:
    known = context.caches.nested(kinds.POD)
    context.caches.seal()
    assert context.caches.nested(kinds.POD) is known
    for ask in (context.caches.nested, context.caches.host):
        with pytest.raises(RuntimeError, match="ingresses requested after the informers started"):
            ask(kinds.INGRESS)
