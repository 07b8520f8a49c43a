"""Shell completion of names: asked from the cluster with a short time-out; without an answer there are no completions."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import typer

from nestor.api import conditions
from nestor.api.objects import status_of
from nestor.clients.cli import session
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view.facts import condition
from nestor.kube import ApiError, Kind, kinds

Candidates = list[tuple[str, str]]
"""Each with a word of help."""

LIMIT_SECONDS = 3


def complete_job(ctx: typer.Context, incomplete: str) -> Candidates:
    async def find(session: Session) -> Candidates:
        jobs = await session.api.list(kinds.NESTED_APP_JOB, session.namespace)
        return [(job["metadata"]["name"], str((condition(job, conditions.READY) or {}).get("reason", ""))) for job in jobs]

    given = ctx.params.get("names") or ()
    return [item for item in _ask(ctx, find, incomplete) if item[0] not in given]


def complete_app(ctx: typer.Context, incomplete: str) -> Candidates:
    async def find(session: Session) -> Candidates:
        apps = await session.api.list(kinds.NESTED_APP)
        return [(app["metadata"]["name"], str(status_of(app).get("title") or "")) for app in apps]

    return _ask(ctx, find, incomplete)


def complete_part(ctx: typer.Context, incomplete: str) -> Candidates:
    async def find(session: Session) -> Candidates:
        job = await session.get_job(str(ctx.params.get("name")))
        return [(step["name"], step.get("state", "")) for step in status_of(job).get("steps") or ()]

    return _ask(ctx, find, incomplete)


def complete_context(ctx: typer.Context, incomplete: str) -> Candidates:
    from nestor.kube.credentials import list_contexts  # noqa: PLC0415

    with contextlib.suppress(ApiError):
        return [(name, "") for name in list_contexts(ctx.params.get("kubeconfig")) if name.startswith(incomplete)]
    return []


def complete_names(kind: Kind) -> Callable[[typer.Context, str], Candidates]:
    """What completes names of a kind without a namespace."""

    async def find(session: Session) -> Candidates:
        return [(item["metadata"]["name"], "") for item in await session.api.list(kind)]

    return lambda ctx, incomplete: _ask(ctx, find, incomplete)


def _ask(ctx: typer.Context, find: Callable[[Session], Awaitable[Candidates]], incomplete: str) -> Candidates:
    params: dict[str, Any] = ctx.params
    place = Place(params.get("namespace"), params.get("context"), params.get("kubeconfig"))

    async def ask() -> Candidates:
        async with asyncio.timeout(LIMIT_SECONDS), session.opened(place, timeout=LIMIT_SECONDS) as opened:
            return await find(opened)

    try:
        return [item for item in asyncio.run(ask()) if item[0].startswith(incomplete)]
    except (ApiError, Failure, TimeoutError):
        return []
