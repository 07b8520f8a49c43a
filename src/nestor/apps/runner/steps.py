"""One attempt of a step, from its preparation to the end of its command."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from nestor.apps.runner import templates
from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.command import Outcome, run_command
from nestor.apps.runner.download import Downloader
from nestor.apps.runner.errors import AttemptError, StepError
from nestor.apps.runner.types import TYPES, Prepared, Tools
from nestor.apps.runner.workspace import Desk, Workspace
from nestor.apps.steps import Plan
from nestor.kube import Api, ApiError

REPEAT_LIMIT = 4
"""How often a command is followed by another one within an attempt."""
REPEAT_PAUSE_SECONDS = 0.2


class Executor:
    """Executes the attempts of one plan."""

    def __init__(self, workspace: Workspace, plan: Plan, api: Api, downloader: Downloader | None = None) -> None:
        self._tools = Tools(workspace, plan, api, downloader or Downloader(plan.remote))

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt, within the step's limit. Raises `StepError` for what no retry can heal."""
        workspace = self._tools.workspace
        try:
            async with workspace.open(attempt) as desk:
                outcome = await self._execute(attempt, desk)
            if outcome.is_success:
                await workspace.accept()
            return outcome
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
        outcome = await self._run(attempt, prepared, start)
        for count in range(REPEAT_LIMIT):
            again = None if outcome.is_success else row.repeat(prepared.command, outcome)
            if again is None or time.monotonic() - start > limit:
                break
            attempt.show(again.note)
            await asyncio.sleep(count * REPEAT_PAUSE_SECONDS)
            prepared = replace(prepared, command=again.command)
            outcome = await self._run(attempt, prepared, start)
        return replace(outcome, message=outcome.message + row.find_hint(attempt.step, outcome), sha256=prepared.sha256)

    async def _run(self, attempt: Attempt, prepared: Prepared, start: float) -> Outcome:
        return await run_command(
            prepared.command,
            folder=prepared.folder,
            environment=prepared.environment,
            limit=attempt.step.timeout_seconds,
            show=attempt.show,
            limits=self._tools.workspace.place.limits,
            spent=time.monotonic() - start,
        )
