"""The command line against an API server in memory, or none."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner, Result

from nestor.clients.cli import session
from nestor.clients.cli.main import app
from nestor.clients.cli.session import Place, Session
from nestor.kube import Api, ApiError, kinds
from tests.fakes.api import MemoryApi

Object = dict[str, Any]


def server(*jobs: Object, **faults: ApiError) -> MemoryApi:
    """An API server with these jobs; `faults`: what it says when asked for one of that name."""
    api = MemoryApi()
    for job in jobs:
        api.put(kinds.NESTED_APP_JOB, job)
    api.fault = lambda _, what: faults.get(what.rpartition("/")[2])
    return api


def call(monkeypatch: pytest.MonkeyPatch, api: MemoryApi, *arguments: str, text: str | None = None) -> Result:
    @asynccontextmanager
    async def opened(place: Place) -> AsyncIterator[Session]:
        assert place
        yield Session(cast(Api, api), "team-a", cast(Any, None))

    monkeypatch.setattr(session, "opened", opened)
    return CliRunner().invoke(app, list(arguments), input=text, env={"COLUMNS": "200"})


def parse(words: list[str]) -> None:
    """Fails unless these are right usage of a command, which is not run."""
    command = cast(Any, typer.main.get_command(app))
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("nestor", words)
