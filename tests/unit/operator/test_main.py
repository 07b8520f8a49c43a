"""What the operator's process must survive."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nestor.kube.election import LeaseLost
from nestor.operator import main
from nestor.operator.world.host_facts import HostUnknown

DEEPEST = 10_000
"""Where Go's JSON decoder, and so every API server, stops."""
PROGRAM = f"""
import copy, json, sys
from nestor.operator.main import RECURSION_LIMIT
sys.setrecursionlimit(RECURSION_LIMIT)
for opening, closing in (('{{"a":', '}}'), ('[', ']')):
    text = opening * {DEEPEST} + '1' + closing * {DEEPEST}
    found = json.loads(text)
    assert json.loads(json.dumps(found)) == found == copy.deepcopy(found)
"""


def test_json_of_any_depth_that_an_api_server_takes_can_be_read_and_written() -> None:
    """In a process of its own: where the stack is too small for the limit, Python does not raise but ends."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-500:]


@pytest.mark.parametrize(
    "error",
    [
        HostUnknown("nobody tells"),
        LeaseLost("nobody tells"),
        ExceptionGroup("parts", [LeaseLost("nobody tells")]),
        ExceptionGroup("parts", [ExceptionGroup("of a part", [LeaseLost("nobody tells")])]),
    ],
    ids=repr,
)
def test_what_is_no_fault_of_ours_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever part has met it first: whoever writes may hear of a lost Lease before that which keeps it does."""
    assert _end_by(error, monkeypatch) == 1
    assert [(record.levelname, record.getMessage(), record.exc_info) for record in caplog.records] == [
        ("ERROR", "nobody tells", None)
    ]


def test_a_fault_is_told_with_its_trace(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert _end_by(ExceptionGroup("parts", [ValueError("broken"), LeaseLost("gone")]), monkeypatch) == 1
    assert "Traceback" in caplog.text
    assert "ValueError: broken" in caplog.text


def test_an_end_in_order_is_no_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert _end_by(None, monkeypatch) == 0
    assert caplog.records == []


def _end_by(error: Exception | None, monkeypatch: pytest.MonkeyPatch) -> int:
    async def run(*_: object) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(main, "run_operator", run)
    monkeypatch.setattr(main, "_set_up_logging", lambda _: None)
    monkeypatch.setattr(main, "read_settings", lambda _: None)
    monkeypatch.setattr(sys, "setrecursionlimit", lambda _: None)
    return main.main([])
