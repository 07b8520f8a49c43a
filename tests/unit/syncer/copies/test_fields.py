"""The difference between what is there and what is desired."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.syncer.copies.fields import (
    ANNOTATIONS,
    LABELS,
    Field,
    annotation,
    build_patch,
    exact,
    fixed,
    is_current,
    needs_another,
    value,
)


def obj(**content: Any) -> Object:
    return {"metadata": {"uid": "u", **content.pop("metadata", {})}, **content}


@pytest.mark.parametrize(
    ("field", "there", "desired", "is_same"),
    [
        (value("spec.mode"), {"spec": {"mode": "a"}}, {"spec": {"mode": "a"}}, True),
        (value("spec.mode"), {"spec": {"mode": "a"}}, {"spec": {"mode": "b"}}, False),
        (value("spec.mode"), {"spec": {"mode": "a"}}, {}, False),
        (value("spec.mode"), {}, {"spec": {"mode": ""}}, True),
        (value("spec.isOn"), {"spec": {}}, {"spec": {"isOn": False}}, True),
        # Servers add defaults to what was desired, and whole items are never theirs.
        (value("spec.ports"), {"spec": {"ports": [{"port": 1, "protocol": "TCP"}]}}, {"spec": {"ports": [{"port": 1}]}}, True),
        (value("spec.ports"), {"spec": {"ports": [{"port": 1}, {"port": 2}]}}, {"spec": {"ports": [{"port": 1}]}}, False),
        (value("spec.ports"), {"spec": {"ports": [{"port": 1}]}}, {"spec": {"ports": [{"port": 2}]}}, False),
        (value("spec.ports"), {"spec": {"ports": "none"}}, {"spec": {"ports": [{"port": 2}]}}, False),
        (value("spec.a", ignores=["at"]), {"spec": {"a": [{"x": 1, "at": 1}]}}, {"spec": {"a": [{"x": 1, "at": 2}]}}, True),
        (value("spec.a", ignores=["at"]), {"spec": {"a": [{"x": 1, "at": 1}]}}, {"spec": {"a": [{"x": 2, "at": 1}]}}, False),
        (exact("data"), {"data": {"a": "1", "b": "2"}}, {"data": {"a": "1"}}, False),
        (exact("data"), {"data": {}}, {}, True),
        (LABELS, {"metadata": {"labels": {"a": "1", "b": "2"}}}, {"metadata": {"labels": {"a": "1"}}}, True),
        (LABELS, {"metadata": {"labels": {"a": "2"}}}, {"metadata": {"labels": {"a": "1"}}}, False),
        (ANNOTATIONS, {}, {"metadata": {"annotations": {"a": "1"}}}, True),
        (annotation("x.y/z"), {"metadata": {"annotations": {"x.y/z": "1"}}}, {}, False),
        (fixed("type"), {"type": "a"}, {"type": "b"}, False),
        (fixed("type"), {"type": "a"}, {}, True),
    ],
)
def test_what_makes_a_difference(field: Field, there: Object, desired: Object, is_same: bool) -> None:
    assert is_current(obj(**there), obj(**desired), [field]) is is_same


FIELDS = (LABELS, ANNOTATIONS, annotation("old"), exact("data"), value("mode"), value("size"), fixed("type"))


def test_a_patch_takes_away_what_went_and_leaves_what_is_not_ours() -> None:
    there = obj(
        metadata={"labels": {"mine": "1", "theirs": "x"}, "annotations": {"old": "x", "theirs": "x"}},
        data={"a": "1", "b": "2"},
        mode="x",
        size=[{"x": 1, "default": 2}],
        type="t",
        theirs="x",
    )
    meta = {"labels": {"mine": "2"}, "annotations": {"note": "n"}}
    desired = obj(metadata=meta, data={"a": "1", "c": "3"}, size=[{"x": 1}], type="t")
    assert build_patch(there, desired, FIELDS) == {
        "metadata": {"uid": "u", "labels": {"mine": "2"}, "annotations": {"note": "n", "old": None}},
        "data": {"a": "1", "b": None, "c": "3"},
        "mode": None,
    }


@pytest.mark.parametrize(("there", "is_needed"), [("t", False), ("other", True), (None, True)])
def test_what_cannot_change_needs_another_object(there: str | None, is_needed: bool) -> None:
    assert needs_another(obj(type=there, mode="x"), obj(type="t", mode="y"), FIELDS) is is_needed
