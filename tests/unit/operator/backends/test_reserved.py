"""Names of nodes are reserved for as long as somebody may hold a certificate for them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from nestor.api.contracts import vnode
from nestor.api.times import read
from nestor.kube import kinds
from nestor.operator.backends import requests
from nestor.operator.backends.requests import MARGIN_SECONDS, TooManyNames, find_change
from nestor.operator.world.context import Result
from tests.unit.operator.backends.test_certificates import build, serving, sign, subject
from tests.unit.operator.backends.test_requests import ADDRESS, read_answer, show
from tests.unit.operator.scene import Scene

Object = dict[str, Any]

NOW = read("2026-01-01T00:00:00Z")
LATER = "2026-01-02T02:00:00Z"
WHERE = (kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, "nestor-system")


@pytest.mark.parametrize(
    ("data", "change"),
    [
        ({}, {}),
        ({"link": "link 2026-01-01T12:00:00Z"}, {}),  # until later now
        ({"other": "other 2026-01-01T12:00:00Z"}, {}),
        ({"old": "link 2025-12-31T23:59:59Z"}, {"old": None}),
        ({"a": "nonsense", "b": "x 2026-01-01T12:00:00", "c": ""}, {"a": None, "b": None, "c": None}),
    ],
)
def test_a_name_is_reserved_for_the_life_of_its_certificate(data: Object, change: Object) -> None:
    assert read(LATER) - NOW == datetime.timedelta(seconds=vnode.CERTIFICATE_SECONDS + MARGIN_SECONDS)
    assert find_change(data, "link", "link", NOW) == {"link": f"link {LATER}"} | change


def test_a_process_cannot_fill_the_list_by_ever_new_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "NAMES_LIMIT", 2)
    full = {"a": f"link {LATER}", "b": f"link {LATER}", "c": f"other {LATER}"}
    with pytest.raises(TooManyNames, match="backend 'link' has had 2 nodes within a day"):
        find_change(full, "d", "link", NOW)
    assert find_change(full, "b", "link", NOW) == {"b": f"link {LATER}"}
    assert find_change(full, "d", "other", NOW) == {"d": f"other {LATER}"}


async def test_the_name_is_reserved_before_the_certificate_is_approved() -> None:
    scene = Scene()
    assert await show(scene, build(sign(subject()))).reconcile("csr") == Result()
    assert scene.api.look(*WHERE)["data"]["link"].startswith("link 20")  # type: ignore[index]
    writes = [item.split(" ")[1] for item in scene.api.asked if not item.startswith("GET")]
    assert writes == ["configmaps", "certificatesigningrequests"]


async def test_names_that_are_there_stay() -> None:
    scene = Scene()
    scene.api.put(WHERE[0], {"metadata": {"name": WHERE[1], "namespace": WHERE[2]}, "data": {"x": "other 2999-01-01T00:00:00Z"}})
    await show(scene, build(sign(subject()))).reconcile("csr")
    assert (scene.api.look(*WHERE) or {})["data"].keys() == {"x", "link"}


async def test_a_name_too_many_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "NAMES_LIMIT", 0)
    scene = Scene()
    await show(scene, build(sign(subject()))).reconcile("csr")
    assert [item["type"] for item in read_answer(scene)] == ["Denied"]
    assert scene.api.look(*WHERE) is None


async def test_a_serving_certificate_is_nobodys_identity() -> None:
    scene = Scene()
    await show(scene, serving(ADDRESS)).reconcile("csr")
    assert [item["type"] for item in read_answer(scene)] == ["Approved"]
    assert scene.api.look(*WHERE) is None
