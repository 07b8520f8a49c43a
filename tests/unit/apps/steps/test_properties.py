"""What holds for any AppDef and any parameters."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestor.api.appdef import AppDefError, choose_command, read_appdef
from nestor.apps import steps
from nestor.apps.steps import Plan, PlanError, Remote
from tests.unit.apps.steps.builders import chart, script, template

pytestmark = pytest.mark.slow

Object = dict[str, Any]

many = settings(max_examples=200, database=None)

_KEYS = """
    name type path cmd format retry retry_sleep timeout_seconds sha256 namespace server_side render chart repo version release
    values values_files wait create_namespace templates targets templates_settings global_retry global_retry_sleep
    kubernetes_version service_name service_port service_namespace commands nested_kubernetes nestedkubernetes appdefversion
    appkind parameters licensed image machines required value min max step precision mvalues filter size if ifnot variable multi
    A -c
"""
keys = st.sampled_from([*_KEYS.split(), "x y", ""])
_WORDS = """
    kubectl kustomize custom helm url file true 20 -1 1e5 . a.yml ../a https://x.test/a oci://x.test/a IyEvYmluL3NoCnRydWUK
    v1.36 v1.36.2 1.36 kns STR INT FLOAT RANGE BOOL selection CONST UPLOAD web %CORES% 2
"""
words = st.sampled_from(_WORDS.split())
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | words
    | st.text(max_size=20)
    | st.text(st.characters(), max_size=5)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys | st.text(max_size=5), inner, max_size=5),
    max_leaves=25,
)
GOOD: Object = {
    "name": "Hello",
    "appdefversion": 2,
    "appkind": "kns",
    "licensed": False,
    "machines": ["*"],
    "image": {"type": "image/png"},
    "commands": {
        "Hello": {
            "path": "/usr/bin/true",
            "parameters": {
                "size": {"type": "RANGE", "min": 0, "max": 9, "step": 3, "value": 3, "variable": True},
                "color": {"type": "selection", "values": ["a", "b"], "mvalues": ["1", "2"], "if": ["on"]},
                "on": {"type": "BOOL", "value": True},
                "text": {"required": True},
            },
            "nested_kubernetes": {
                "kubernetes_version": "v1.36",
                "targets": [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}],
                "templates_settings": {"global_retry": 20, "render": True},
                "templates": [
                    template(),
                    template(name="u", path="https://x.test/a", format="url", sha256="f" * 64),
                    script(),
                    template(name="k", type="kustomize", path="overlays", namespace="web"),
                    chart(name="h", values={"a": [1]}, values_files=["v.yml"]),
                    chart(name="r", path=None, chart="web", repo="https://x.test", version="1.2"),
                ],
            },
        }
    },
}


def list_places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path, *(place for key, child in children for place in list_places(child, (*path, key)))]


PLACES = list_places(GOOD)


def has(holder: Any, key: Any) -> bool:
    if isinstance(holder, dict):
        return key in holder
    return isinstance(holder, list) and isinstance(key, int) and key < len(holder)


@st.composite
def nearly_good(draw: st.DrawFn) -> Any:
    """An AppDef that is fine but for up to three places."""
    content = {"": copy.deepcopy(GOOD)}
    for _ in range(draw(st.integers(0, 3))):
        holder: Any = content
        path = ("", *draw(st.sampled_from(PLACES)))
        for key in path[:-1]:
            holder = holder[key] if has(holder, key) else None
        if has(holder, path[-1]):
            holder[path[-1]] = draw(anything)
    return content[""]


def read(content: Any, wanted: str | None, values: Any) -> Plan:
    chosen = choose_command(read_appdef(content), wanted)
    checked = steps.check_parameters(chosen.command.parameters, values)
    return steps.build_plan(
        chosen.nested.model_dump(),
        "base",
        parameters=checked.values,
        environment=checked.environment,
        facts={"name": "x"},
        remote=Remote(allowed_hosts=("x.test",)),
    )


def check_messages(error: AppDefError | PlanError) -> None:
    assert error.messages
    for message in error.messages:
        assert "`" in message or message.startswith("the AppDef has no command")
        assert len(message.encode(errors="replace")) < 5000


def check_outcome(content: Any, wanted: str | None, values: Any) -> None:
    """A plan that can be carried to the runner and is the same each time, or sentences that name a field."""
    try:
        plan = read(content, wanted, values)
    except (AppDefError, PlanError) as error:
        check_messages(error)
        return
    assert Plan.model_validate_json(plan.to_json()) == plan
    assert read(content, wanted, values) == plan
    assert len({step.name for step in plan.steps}) == len(plan.steps)


def test_the_good_one_is_good() -> None:
    assert len(read(GOOD, None, {"text": "x"}).steps) == 6


some_values = st.dictionaries(st.sampled_from(["size", "color", "on", "text", "other"]), scalars, max_size=4)


@many
@given(nearly_good(), st.none() | st.just("Hello"), st.just({"text": "x"}) | some_values)
def test_any_appdef_that_is_nearly_good_is_read_or_refused_in_sentences(content: Any, wanted: str | None, values: Object) -> None:
    check_outcome(content, wanted, values)
