"""What the Ingress controller tells the proxy, and what it says on Ingresses. What the proxy makes of it, its Go tests show."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from devcluster.cluster.ingress import proxy
from devcluster.cluster.ingress.controller import STATUS, Controller
from nestor.kube import Api, kinds
from tests.fakes.api import MemoryApi
from tests.unit.devcluster.cluster.ingress.builders import ingress, path, rule
from tests.unit.devcluster.cluster.ingress.test_tls import ANY, A, secret
from tests.waiting import comes_true


async def test_it_follows_secrets_says_what_is_missing_once_and_where_ingresses_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api, tables = MemoryApi(), list[dict[str, Any]]()

    async def load(_: Path, table: dict[str, Any]) -> None:
        tables.append(table)

    monkeypatch.setattr(proxy, "load", load)
    entry = {"hosts": ["a.test"], "secretName": "web-tls"}
    api.put(kinds.INGRESS, ingress(rules=[rule("a.test", path())], tls=[entry]))
    task = asyncio.create_task(Controller(cast(Api, api), Path()).run())

    def told() -> list[str]:
        return [item["message"] for item in api.every("events")]

    await comes_true(lambda: (api.look(kinds.INGRESS, "web", "team") or {}).get("status") == STATUS)
    assert told() == ["Secret 'web-tls' does not exist, or is not of type kubernetes.io/tls; a.test is served without TLS"]
    for pair in (A, ANY):
        before = tables[-1]
        api.put(kinds.SECRET, secret(pair) | {"type": "kubernetes.io/tls"})
        await comes_true(lambda before=before: tables[-1] != before)  # type: ignore[misc]
    assert [len(table["certificates"]) for table in tables] == [0, 1, 1]
    assert len(told()) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
