"""Kinds are looked for by their API version and name."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.kube import Kind
from nestor.syncer import watches
from tests.unit.syncer import fakes

Object = dict[str, Any]

RESOURCES = [
    {"name": "widgets", "kind": "Widget", "namespaced": True}, {"name": "widgets/status", "kind": "Widget", "namespaced": True},
    {"name": "widgets/scale", "kind": "Scale", "namespaced": True}, {"name": "planets", "kind": "Planet", "namespaced": False},
]


@pytest.mark.parametrize(("api_version", "name", "asked", "found"), [
    ("example.org/v1", "Widget", "GET /apis/example.org/v1", Kind("example.org", "v1", "widgets", "Widget")),
    ("example.org/v1", "Planet", "GET /apis/example.org/v1", Kind("example.org", "v1", "planets", "Planet", namespaced=False)),
    ("v1", "Widget", "GET /api/v1", Kind("", "v1", "widgets", "Widget")),
    ("example.org/v1", "Scale", "GET /apis/example.org/v1", None),
    ("example.org/v1", "Nothing", "GET /apis/example.org/v1", None),
])
async def test_what_is_found(api_version: str, name: str, asked: str, found: Kind | None) -> None:
    api = fakes.FakeApi(answer={"resources": RESOURCES})
    assert await watches.discover(api, api_version, name) == found  # type: ignore[arg-type]
    assert api.asked == [asked]


@pytest.mark.parametrize("api_version", ["", "../../api/v1", "a/b/v1", "example.org/../v1", "example.org/", "/v1", "v1?watch=1"])
async def test_what_would_be_another_path_is_not_asked_for(api_version: str) -> None:
    api = fakes.FakeApi(answer={"resources": RESOURCES})
    assert await watches.discover(api, api_version, "Widget") is None  # type: ignore[arg-type]
    assert api.asked == []
