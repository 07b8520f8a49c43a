"""Switches, faults, tokens and records: what survives a restart, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from devcluster.plugin.switches import Fault, Switchboard
from devcluster.plugin.tokens import Tokens


@pytest.fixture
def board(tmp_path: Path) -> Switchboard:
    """Switches as they are at first."""
    return Switchboard(tmp_path / "switches.json")


def test_switches_survive_a_restart(board: Switchboard, tmp_path: Path) -> None:
    board.change({"hold": True, "resources": {"cpu": "1"}})
    again = Switchboard(tmp_path / "switches.json").now
    assert (again.hold, again.resources.cpu) == (True, "1")
    assert board.reset() == Switchboard(tmp_path / "none.json").now


@pytest.mark.parametrize("values", [{"unknown": 1}, {"hold": "perhaps"}, {"faults": [{"kind": "explosion"}]}])
def test_impossible_switches_change_nothing(board: Switchboard, values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        board.change({"backoff": 9, **values})
    assert board.now.backoff == 1


def test_a_fault_befalls_as_many_requests_as_it_says(board: Switchboard) -> None:
    board.change({"faults": [{"kind": "drop", "route": "create", "times": 2}, {"kind": "error", "hop": "plugin"}]})
    assert [board.take_fault("server", "create") is not None for _ in range(3)] == [True, True, False]
    assert board.take_fault("server", "status") is None
    assert board.take_fault("plugin", "create") == Fault(kind="error", hop="plugin")


def test_tokens_are_good_for_their_time_and_over_restarts(board: Switchboard, tmp_path: Path) -> None:
    board.change({"token_seconds": 10})
    tokens = Tokens(board, tmp_path / "key")
    token = tokens.new(100)
    assert tokens.is_valid(token, 109)
    assert not tokens.is_valid(token, 111)
    assert Tokens(board, tmp_path / "key").is_valid(token, 109)
    assert not Tokens(board, tmp_path / "other").is_valid(token, 109)


@pytest.mark.parametrize("token", ["", "x", "1-2-3", "100.000-999.000-"])
def test_other_tokens_are_not(board: Switchboard, tmp_path: Path, token: str) -> None:
    assert not Tokens(board, tmp_path / "key").is_valid(token, 100)


def test_tokens_can_be_taken_back_and_others_let_in(board: Switchboard, tmp_path: Path) -> None:
    tokens = Tokens(board, tmp_path / "key")
    token = tokens.new(100)
    board.change({"not_before": 101, "tokens": ["static"]})
    assert not tokens.is_valid(token, 102)
    assert tokens.is_valid(tokens.new(102), 103)
    assert tokens.is_valid("static", 103)
