"""The syncer's roles allow what its rows, its provider and its controllers say that they need: no less, and no more."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import cast

from nestor.kube import Api
from nestor.kube.events import EventRecorder
from nestor.syncer import parts
from nestor.syncer.settings import Settings
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from tests.unit.test_rbac import read_verbs
from tests.unit.translate.builders import TARGET

CLUSTER = {"metadata": {"name": "hello", "namespace": TARGET.namespace}, "spec": {}}


async def test_roles_allow_exactly_what_is_needed() -> None:
    api = cast(Api, None)
    context = Context(api, api, TARGET, Caches(api, api, TARGET), EventRecorder(api, "test"))
    built = parts.build_shared(context, CLUSTER, Settings(TARGET.namespace, "hello", Path()))
    needed: dict[bool, dict[str, set[str]]] = {True: defaultdict(set), False: defaultdict(set)}
    for right in parts.find_rights(built, context):
        needed[right.kind.namespaced][right.resource] |= right.verbs
    assert needed[True] == read_verbs("nestor-syncer")
    assert needed[False] == read_verbs("nestor-syncer-nodes")
