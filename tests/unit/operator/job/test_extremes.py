"""Whatever a job's schema admits, however odd, a pass over the job ends with a status that its schema admits, too."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from nestor.api import conditions
from nestor.api.job_status import NestedAppJobStatus
from nestor.clients.cli.offline import rules
from nestor.clients.cli.offline.rules import root_schema
from nestor.kube import ApiError, RetryLater
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import Scene

SCHEMA = root_schema("NestedAppJob")["properties"]["spec"]

ODD = ["a", "0", "Job", "A1", "a/b", "a.b/c", "*.a.b", "v1.36", "v0.0", f"v{10**20}.1", "a" * 63, "A" + "z" * 62, "jobs.test"]
ODD += ["", " ", "\n", "a\nb", "\u0000", "\u202e", "\u0130\u00df", "\U0001f600" * 9]
ODD += ["{{ x }}", "${X}", "%s", "../..", "-", "a:b@c", "[::1]:0/a", "'\"\\"]
"""Texts; whoever has a pattern admits few of them."""
NUMBERS = ["0", "1e9999999", "0e0", "0.000000000000000000000000000001", "1e99", "9" * 32, "9" * 30 + "Ei", "1E", "1m"]
LEAVES: list[Any] = [10**400, -(2**63), 1e308, "\u0000\U0001f600", [[[[[]]]]]]
COMMANDS: list[Any] = [None, [], {}, "x"]
COMMANDS += [{"Hello": None}, {"Hello": []}, {"Hello": {"nested_kubernetes": None}}, {"Hello": {"nested_kubernetes": []}}]
TREES: list[Any] = [{}, {"": None}, {str(item): {} for item in range(64)}, *({"a": item} for item in LEAVES)]
TREES += [{"commands": item} for item in COMMANDS]
CLASSES: list[Object] = [
    {},
    {
        "storage": {"classes": ["a"]},
        "placement": {
            "allowedNodeLabels": ["a", "a.b/*"],
            "allowedTolerations": ["*"],
            "machines": [{"name": "a"}],
            "schedulers": ["a"],
            "priorityClasses": {"allowed": ["a"]},
            "runtimeClasses": {"allowed": ["a"]},
            "overflow": {"backends": [{"name": "a"}]},
        },
        "expose": {"allowedAnnotations": ["a"], "allowedHosts": ["*.a.b"]},
        "queue": {"maxJobs": 1},
        "maxActiveDeadlineSeconds": 60,
    },
]


def list_extremes(schema: Object) -> Iterator[Any]:
    """Values of every kind that a node of the schema speaks of, at the ends of its limits and beyond."""
    yield from schema.get("enum") or ()
    kind = schema.get("type", "quantity")
    if kind == "boolean":
        yield from (False, True)
    elif kind == "integer":
        yield from (schema.get("minimum", -(2**63)), 0, 1, schema.get("maximum", 2**63 - 1))
    elif kind == "quantity":
        yield from (-(2**63), -1, 0, 2**63 - 1, *NUMBERS)
    elif kind == "string":
        most = schema.get("maxLength", 100_000)
        texts = (*ODD, ".".join(["a" * 63] * 9)[:most].rstrip("."), "a" * most, "\U0001f600" * most)
        found = [item for item in texts if is_admitted(item, schema)]
        yield from found[:2] + found[-2:] if "pattern" in schema else found
    elif kind == "array":
        items = [item for item in list_extremes(schema["items"]) if is_admitted(item, schema["items"])]
        yield from ([], *([item] for item in items), (items * 100)[: schema["maxItems"]], items[:1] * schema["maxItems"])
    elif kind == "object":
        yield from _list_objects(schema)


def _list_objects(schema: Object) -> Iterator[Any]:
    if isinstance(inner := schema.get("additionalProperties"), dict):
        items = [item for item in list_extremes(inner) if is_admitted(item, inner)]
        yield from ({"a": item} for item in items)
        yield from (
            {key: items[0]} for key in (*ODD, "nestor.dev/x", "kubernetes.io/hostname", "a" * 400, "a" * 253 + "/" + "b" * 63)
        )
        yield from ({}, {f"k{number}": items[-1] for number in range(schema["maxProperties"])})
        return
    if "properties" not in schema:
        yield from TREES
        return
    values = {
        name: [item for item in list_extremes(inner) if is_admitted(item, inner)] for name, inner in schema["properties"].items()
    }
    needed = {name: values[name][0] for name in schema.get("required", ())}
    yield needed
    bases = [needed]
    for _ in range(2):  # whom a rule wants to have company gets it
        bases += [base | {name: item} for base in bases for name, items in values.items() for item in items[:3]]
    for name, items in values.items():
        rest = next(base for base in bases if is_admitted(base | {name: items[0]}, schema))
        yield from (rest | {name: item} for item in items)


def is_admitted(value: Any, schema: Object) -> bool:
    """Whether an API server would store it. It refuses a number that is none to it."""
    if "0" * 400 in json.dumps(value):
        return False
    whole = rules.with_defaults(value, schema)
    return jsonschema_rs.is_valid(schema, whole) and not list(rules.check_rules(whole, schema, ""))


@cache
def list_specs(field: str) -> list[Object]:
    """Specs of a job, each with another extreme value of that field."""
    found = []
    base = build_job()["spec"]
    for value in list_extremes(SCHEMA["properties"][field]):
        spec = copy.deepcopy(base)
        if field == "appRef":
            del spec["app"]
        spec[field] = value
        if field == "app" and "appDef" not in value:
            spec["app"] = base["app"] | value
        if is_admitted(spec, SCHEMA):
            found.append(rules.with_defaults(spec, SCHEMA))
    return found


async def look(scene: Scene) -> Object:
    """One pass; returns what it has said."""
    try:
        result = await scene.run()
        assert result.error is None or isinstance(result.error, ApiError)
    except (ApiError, RetryLater):
        pass
    status: Object = scene.job.get("status", {})
    NestedAppJobStatus.model_validate_json(json.dumps(status), strict=True, extra="forbid", by_alias=True, by_name=False)
    said = conditions.find(status.get("conditions"), conditions.ADMITTED) or {}
    assert said.get("reason") != conditions.INTERNAL_ERROR
    return status


@pytest.mark.parametrize("policy", CLASSES, ids=["plain", "generous"])
@pytest.mark.parametrize("field", sorted(SCHEMA["properties"]))
async def test_a_pass_over_a_job_with_an_extreme_value_ends_with_a_status(field: str, policy: Object) -> None:
    """Of a job that was never looked at, and of one that runs."""
    found = list_specs(field)
    assert len(found) > 1
    scene, running = Scene(), Object()
    for spec in found:
        if not running:
            scene = Scene()
            scene.set_class("Privileged", **policy)
            scene.add_job()
            running = await look(scene)
        for status in ({}, running):
            scene.settle(spec=spec, status=status)
            said = await look(scene)
        if said.get("completionTime"):
            running = {}
