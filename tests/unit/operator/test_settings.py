"""Settings are read."""

from __future__ import annotations

import pytest

from nestor.operator.flags import read_settings


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
