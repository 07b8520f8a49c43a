"""How the process ends."""

import asyncio
from typing import Any, cast

import pytest

from nestor.kube import Api
from nestor.syncer import main
from nestor.syncer.process import identity
from nestor.syncer.process.gate import Gate
from nestor.syncer.settings import Settings


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 0),
        (ExceptionGroup("parts", [identity.Outdated("new")]), 0),
        (ExceptionGroup("parts", [RuntimeError("a part has ended")]), 1),
        (ExceptionGroup("parts", [identity.Outdated("new"), RuntimeError("a part has ended")]), 1),
        (RuntimeError("no kubeconfig"), 1),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, error: Exception | None, code: int) -> None:
    async def run(settings: Settings) -> None:
        assert settings.cluster == "hello"
        if error is not None:
            raise error

    monkeypatch.setattr(main, "run", run)
    assert main.main(["--namespace=n", "--cluster=hello"]) == code


class Answering:
    """A nested API server that is ready."""

    async def request(self, *_: Any, **__: Any) -> Any:
        return {"gitVersion": "v1.36.3"}


READY = cast(Api, Answering())


async def test_the_cluster_is_not_ready_before_its_dns_may_connect_and_its_nodes_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(main, "PATIENCE_SECONDS", 0.001)
    gate, settled = Gate(0), asyncio.Event()
    waiting = asyncio.create_task(main._await_basics(gate, settled.is_set, "", READY))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.is_open.set()
    await asyncio.wait([waiting], timeout=0.05)
    assert not waiting.done()
    settled.set()
    await asyncio.wait_for(waiting, 10)


async def test_nodes_that_never_come_do_not_keep_a_cluster_from_being_ready(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(main, "PATIENCE_SECONDS", 0.001)
    monkeypatch.setattr(main, "_SETTLE_SECONDS", 0.01)
    gate = Gate(0)
    gate.is_open.set()
    await asyncio.wait_for(main._await_basics(gate, lambda: False, "", READY), 10)
    assert "not all nodes could be mirrored" in caplog.text
