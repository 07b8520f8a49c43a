"""What a pod's containers share."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from devcluster.plugin import surroundings


async def test_a_network_that_is_being_made_is_there_when_its_maker_has_been_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would come after whoever removes it, as a mount that nobody knows."""
    begun, made = asyncio.Event(), list[str]()

    async def run(*command: str) -> None:
        begun.set()
        await asyncio.sleep(0.01)
        made.append(command[0])

    monkeypatch.setattr(surroundings, "_run", run)
    task = asyncio.create_task(surroundings.make_network(tmp_path / "uid-1"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made == ["unshare"]
