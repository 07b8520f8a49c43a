"""Long lists come page by page, from a real API server and from one that forgets where it was."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from nestor.kube import Api, Informer, Invalid, kinds, pages
from tests.integration.kube import faults
from tests.integration.kube.test_informer import Recorder, create, running

SIZE = 25
COUNT = 2 * SIZE + 7


@pytest.fixture
async def many(host: Api, namespace: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of more ConfigMaps than two pages hold, which are small here; each has the label `watch=yes`."""
    monkeypatch.setattr(pages, "SIZE", SIZE)
    names = [f"a{number:04}" for number in range(COUNT)]
    await asyncio.gather(*(create(host, namespace, name) for name in names))
    return names


@pytest.fixture
def asked(host: Api, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The queries of all requests that are answered at once."""
    seen: list[dict[str, str]] = []
    request = host.request

    async def noted(method: str, path: str, query: dict[str, str] | None = None, *rest: object, **more: Any) -> object:
        seen.append(query or {})
        return await request(method, path, query, *rest, **more)

    monkeypatch.setattr(host, "request", noted)
    return seen


async def test_a_long_list_is_whole_and_no_answer_is_longer_than_a_page(
    host: Api, namespace: str, many: list[str], asked: list[dict[str, str]]
) -> None:
    found = await host.list(kinds.CONFIG_MAP, namespace, labels="watch=yes")
    assert [item["metadata"]["name"] for item in found] == many
    assert {(item["apiVersion"], item["kind"]) for item in found} == {("v1", "ConfigMap")}
    assert [(query["limit"], "continue" in query) for query in asked] == [
        (str(SIZE), False),
        (str(SIZE), True),
        (str(SIZE), True),
    ]


async def test_an_informer_knows_all_pages_and_watches_from_where_they_end(
    host: Api, namespace: str, many: list[str], asked: list[dict[str, str]]
) -> None:
    informer = Informer(host, kinds.CONFIG_MAP, namespace, labels="watch=yes")
    recorder = Recorder(informer)
    async with running(informer):
        assert sorted(name for _, name in informer.store) == many
        assert len([query for query in asked if "limit" in query]) == 3
        recorder.seen.clear()
        await host.delete(kinds.CONFIG_MAP, many[0], namespace)
        await recorder.until(("deleted", many[0]))


class Forgetful:
    """A server whose list has two pages, and whose tokens are always too old."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.queries: list[dict[str, list[str]]] = []

    async def answer(self, exchange: faults.Exchange) -> None:
        """One request."""
        query = parse_qs(urlsplit(exchange.target).query)
        self.queries.append(query)
        items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in "ab"]
        if "continue" in query:
            code, reason = (400, "BadRequest") if self.refuses else (410, "Expired")
            await exchange.answer({"kind": "Status", "code": code, "reason": reason, "message": "no such token"}, code)
        elif "limit" in query:
            await exchange.answer({"metadata": {"resourceVersion": "5", "continue": "t"}, "items": items[:1]})
        else:
            await exchange.answer({"metadata": {"resourceVersion": "9"}, "items": items})


async def test_a_list_whose_token_expires_is_read_in_one_piece() -> None:
    server = Forgetful()
    async with faults.scripted(server.answer) as url, await Api.from_kubeconfig(faults.kubeconfig(url)) as api:
        listed = await pages.read(api.request, kinds.NODE, None, {"labelSelector": "a=b"})
    assert [item["metadata"]["name"] for item in listed.items] == ["a", "b"]
    assert listed.version == "9"
    assert [sorted(query) for query in server.queries] == [
        ["labelSelector", "limit"],
        ["continue", "labelSelector", "limit"],
        ["labelSelector"],
    ]


async def test_any_other_error_of_a_page_is_told() -> None:
    server = Forgetful(refuses=True)
    async with faults.scripted(server.answer) as url, await Api.from_kubeconfig(faults.kubeconfig(url)) as api:
        with pytest.raises(Invalid, match="no such token"):
            await api.list(kinds.NODE)
