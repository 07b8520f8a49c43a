"""What a syncer consists of, by what it watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from nestor.kube import kinds
from nestor.kube.kinds import right
from nestor.syncer import parts
from nestor.syncer.settings import Settings
from nestor.syncer.view.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.at_work import build_context
from tests.unit.test_rbac import read_verbs

CLUSTER = {"metadata": {"name": "hello", "namespace": TARGET.namespace}, "spec": {}}
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


async def test_a_cache_that_is_asked_for_too_late_is_a_mistake(context: Context) -> None:
    known = context.caches.nested(kinds.POD)
    context.caches.seal()
    assert context.caches.nested(kinds.POD) is known
    for ask in (context.caches.nested, context.caches.host):
        with pytest.raises(RuntimeError, match="ingresses requested after the informers started"):
            ask(kinds.INGRESS)
