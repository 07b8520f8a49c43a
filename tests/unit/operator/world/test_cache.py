"""The store never goes back to an older version, the index follows its informer, settings and kubeconfigs are read."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.operator.flags import read_settings
from nestor.operator.world.cache import GONE_REMEMBERED, Store
from nestor.operator.world.kopf_events import build_settings

Object = dict[str, Any]


def obj(version: str, uid: str = "a", name: str = "x") -> Object:
    """An object at a version."""
    return {"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": version}}


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    store = Store()
    store.put(obj("10"))
    store.put(obj("9"))
    found = store.get("x", "n")
    assert found is not None
    assert found["metadata"]["resourceVersion"] == "10"


def test_a_successor_replaces_and_is_not_dropped_with_its_predecessor() -> None:
    store = Store()
    store.put(obj("10"))
    store.put(obj("5", uid="b"))
    store.drop(obj("11"))
    found = store.get("x", "n")
    assert found is not None
    assert found["metadata"]["uid"] == "b"
    store.drop(obj("12", uid="b"))
    assert store.get("x", "n") is None
    assert list(store) == []


def test_what_is_gone_does_not_come_back_with_a_late_answer() -> None:
    store = Store()
    store.drop(obj("11"))
    assert not store.put(obj("10"))
    assert list(store) == []
    assert store.put(obj("12", uid="b"))
    assert not store.put(obj("10"))
    assert [item["metadata"]["uid"] for item in store] == ["b"]


def test_what_is_remembered_of_the_gone_is_bounded() -> None:
    store = Store()
    for number in range(GONE_REMEMBERED + 1):
        store.drop(obj("1", uid=str(number)))
    store.put(obj("1", uid="1"))
    assert list(store) == []
    store.put(obj("1", uid="0"))
    assert len(list(store)) == 1


def test_settings_come_from_the_environment_and_flags_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTOR_IMAGE", "nestor:1")
    monkeypatch.setenv("NESTOR_SERVICE_CIDR", "10.96.0.0/12, fd00::/108")
    settings = read_settings(["--workers", "3"])
    assert settings.image == "nestor:1"
    assert settings.service_cidrs == ("10.96.0.0/12", "fd00::/108")
    assert settings.workers == 3


def test_the_image_is_required(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NESTOR_IMAGE", raising=False)
    with pytest.raises(SystemExit):
        read_settings([])
    assert "NESTOR_IMAGE" in capsys.readouterr().err


def test_kopf_neither_posts_nor_waits_for_ever() -> None:
    settings = build_settings()
    assert settings.posting.enabled is False
    assert settings.peering.standalone is True
    assert settings.networking.request_timeout == 30
    assert settings.watching.client_timeout > settings.watching.server_timeout
