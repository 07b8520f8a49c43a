"""What a syncer consists of, by what it watches."""

import copy
from pathlib import Path

import pytest

from nestor.kube import kinds
from nestor.syncer import parts
from nestor.syncer.copies.rows import find_rows
from nestor.syncer.settings import Settings
from nestor.syncer.view.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.at_work import build_context
from tests.unit.test_rbac import Rights, name_resource, read_verbs

CLUSTER = {"metadata": {"name": "hello", "namespace": TARGET.namespace}, "spec": {}}
COPYING = ("get", "create", "patch", "delete")
SETTINGS = Settings(TARGET.namespace, "hello", Path())


@pytest.fixture
def context() -> Context:
    return build_context(MemoryApi(), MemoryApi())


ASKED: Rights = {
    "nestedclusters.nestor.dev": {"get"},
    "nestedclusters/status.nestor.dev": {"patch"},
    "pods": {"get", "create", "patch", "delete"},
    "pods/log": {"get"},
    # get: WebSocket upgrades; create: SPDY, and WebSocket since Kubernetes 1.35.
    **{f"pods/{name}": {"get", "create"} for name in ("exec", "attach", "portforward")},
    **{f"pods/{name}": {"patch"} for name in ("ephemeralcontainers", "resize", "status")},
    "pods.metrics.k8s.io": {"list"},
    "podgroups.scheduling.k8s.io": {"create", "delete"},
}
"""What a syncer asks of the host apart from copies. In the integration tests, it has these roles and no others."""


async def test_roles_allow_caches_copies_and_what_else_is_asked_and_nothing_more(context: Context) -> None:
    parts.build(context, CLUSTER, SETTINGS)
    needed: dict[bool, Rights] = {True: copy.deepcopy(ASKED), False: {"nodes": {"get"}}}
    copied = [row.kind for row in find_rows() if row.direction == "Down"]
    watched = [informer.kind for informer in context.caches.host_side]
    for kind, verbs in [*((kind, COPYING) for kind in copied), *((kind, ("list", "watch")) for kind in watched)]:
        needed[kind.namespaced].setdefault(name_resource(kind.plural, kind.group), set()).update(verbs)
    assert needed[True] == read_verbs("nestor-syncer")
    assert needed[False] == read_verbs("nestor-syncer-nodes")


async def test_a_cache_that_is_asked_for_too_late_is_a_mistake(context: Context) -> None:
    known = context.caches.nested(kinds.POD)
    context.caches.seal()
    assert context.caches.nested(kinds.POD) is known
    for ask in (context.caches.nested, context.caches.host):
        with pytest.raises(RuntimeError, match="ingresses requested after the informers started"):
            ask(kinds.INGRESS)
