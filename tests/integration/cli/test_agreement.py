"""Objects that nobody thought of: those of the table, changed at random places, get the API server's verdict offline."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from nestor.cli.offline import metadata, rules, structure
from nestor.cli.offline.check import root_schema
from nestor.kube import Api
from tests.integration.cli.test_validate import ask
from tests.unit.cli.objects import GOOD, TABLE, Object

VALUES: list[Any] = [
    None,
    "",
    "a",
    "A",
    "a.b",
    "-a",
    "a\n",
    " a",
    "x" * 64,
    "x" * 300,
    0,
    1,
    -1,
    2**31,
    2**40,
    1.5,
    3.0,
    True,
    False,
    [],
    ["a"],
    [None],
    {},
    {"a": "b"},
    {"name": "x"},
    "10.0.0.0/8",
    "v1.36",
    "v1.36 ",
    "é",
    "Job",
    "Restart",
    "100m",
    "1e3",
    "*.a.b",
    "a..b",
]
OBJECTS = 60
"""For each seed."""


def list_places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything below `metadata` and `spec`; what is in an AppDef is the operator's to judge."""
    found = [path] if len(path) > 1 or path == ("spec",) else []
    if path and path[-1] == "appDef":
        return found
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        if path or key in ("metadata", "spec"):
            found += list_places(value, (*path, key))
    return found


def mutate(body: Object, source: random.Random) -> Object:
    """Change, remove or add something at one place or two."""
    result = copy.deepcopy(body)
    for _ in range(source.choice([1, 1, 1, 2])):
        places = list_places(result)
        *above, key = source.choice(places)
        parent: Any = result
        for part in above:
            parent = parent[part]
        action = source.random()
        if action < 0.15 and isinstance(parent, dict):
            del parent[key]
        elif action < 0.3 and isinstance(parent[key], dict):
            parent[key][source.choice(["extra", "name", "kind", "host", "image"])] = copy.deepcopy(source.choice(VALUES))
        else:
            parent[key] = copy.deepcopy(source.choice(VALUES))
    return result


def judge_offline(body: Object) -> list[str]:
    """The schema's part of `nestor validate`."""
    schema = root_schema(body["kind"])
    whole = structure.with_defaults({key: value for key, value in body.items() if key != "status"}, schema)
    faults = list(metadata.check(body, is_namespaced=body["kind"] in ("NestedAppJob", "NestedCluster")))
    if "spec" not in whole:
        return [*map(str, faults), "spec"]
    faults += structure.check(whole["spec"], schema["properties"]["spec"], "spec")
    return [str(fault) for fault in faults or rules.check(whole, schema, "")]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
async def test_random_objects_get_the_same_verdict(host: Api, seed: int) -> None:
    source = random.Random(seed)
    good = [body for _, body, part in TABLE if part == GOOD]
    for _ in range(OBJECTS):
        body = mutate(source.choice(good), source)
        refusal, offline = await ask(host, body), judge_offline(body)
        assert (refusal is None) == (not offline), (json.dumps(body), refusal, offline)
