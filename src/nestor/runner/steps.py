"""One attempt of a step, from its preparation to the end of its command."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from nestor.kube import Api, ApiError
from nestor.runner import templates
from nestor.runner.attempt import Attempt
from nestor.runner.command import Outcome, run_command
from nestor.runner.download import Downloader
from nestor.runner.errors import AttemptError, StepError
from nestor.runner.types import TYPES, Tools
from nestor.runner.workspace import Desk, Workspace
from nestor.steps import Plan


class Executor:
    """Executes the attempts of one plan."""

    def __init__(self, workspace: Workspace, plan: Plan, api: Api, downloader: Downloader | None = None) -> None:
        self._tools = Tools(workspace, plan, api, downloader or Downloader(plan.remote))

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt, within the step's limit. Raises `StepError` for what no retry can heal."""
        workspace = self._tools.workspace
        try:
            async with workspace.open(attempt) as desk:
                return await self._execute(attempt, desk)
        except AttemptError as error:
            return Outcome(None, str(error))
        except OSError as error:
            return Outcome(None, f"the step cannot be prepared: {error}")
        except ApiError as error:
            return Outcome(None, f"the step cannot be prepared: the nested API: {error}")
        except templates.TemplateError as error:
            raise StepError(f"{error}{workspace.explain_missing(attempt.step)}") from error

    async def _execute(self, attempt: Attempt, desk: Desk) -> Outcome:
        row, limit = TYPES[attempt.step.type], attempt.step.timeout_seconds
        start = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                prepared = await row.prepare(self._tools, attempt, desk)
        except TimeoutError:
            return Outcome(None, f"timed out after {limit} s, before its command started")
        outcome = await run_command(
            prepared.command,
            folder=prepared.folder,
            environment=prepared.environment,
            limit=limit,
            show=attempt.show,
            limits=self._tools.workspace.place.limits,
            spent=time.monotonic() - start,
        )
        return replace(outcome, message=outcome.message + row.find_hint(attempt.step, outcome), sha256=prepared.sha256)
