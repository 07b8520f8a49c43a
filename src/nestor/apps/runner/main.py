"""`nestor runner`: loads the plan, waits for the nested API, runs the steps. Its exit code is its result."""

import argparse
import asyncio
import contextlib
import resource
import sys
import tempfile
import traceback
from pathlib import Path

from nestor.api.contracts import runner as contract
from nestor.api.contracts.runner import Exit
from nestor.api.observed import RunStatus
from nestor.apps.runner import guard, processes
from nestor.apps.runner.attempt import Clock
from nestor.apps.runner.record import Record, Superseded
from nestor.apps.runner.run import Runner
from nestor.apps.runner.settling import NoApi, Settling, wait_for_api
from nestor.apps.runner.types import TYPES, Executor
from nestor.apps.runner.workspace import Place, Workspace
from nestor.apps.steps import Plan
from nestor.kube import Api, ApiError
from nestor.kube.process import run_until_signal


def main(arguments: list[str]) -> int:
    # Only a recorded failure may exit with 1.
    try:
        return _main(arguments)
    except Exception:
        show(f"no result, the runner itself failed:\n{traceback.format_exc()}")
        return Exit.CRASHED


def _main(arguments: list[str]) -> int:
    options = _parse(arguments)
    try:
        plan = _read_plan(options.plan)
    except (OSError, ValueError) as error:
        show(f"the plan {options.plan} cannot be read: {error}")
        return Exit.BAD_PLAN
    if not options.templates.parent.is_dir():
        show(f"{options.templates.parent} is not mounted: the host cluster has no image volumes")
        return Exit.NO_VOLUME
    # The one folder that is certainly writable: the kubeconfig's certificates are written to temporary files.
    tempfile.tempdir = str(options.work)
    _prepare_process()
    place = Place(options.templates, options.kubeconfig, options.work, options.temporary)
    return asyncio.run(_run_until_stopped(plan, place))


def _read_plan(file: Path) -> Plan:
    """Raises `OSError`, or `ValueError` for what is none that this runner can execute."""
    plan = Plan.model_validate_json(file.read_bytes())
    for step in plan.steps:
        if step.type not in TYPES:
            raise ValueError(f"step '{step.name}' is of type '{step.type}', which this runner does not know")
    return plan


def show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nestor runner", description=__doc__)
    parser.add_argument("--plan", type=Path, default=Path(contract.PLAN_FOLDER, contract.PLAN_FILE))
    parser.add_argument("--kubeconfig", type=Path, default=Path(contract.KUBECONFIG_FOLDER, contract.KUBECONFIG_FILE))
    parser.add_argument("--templates", type=Path, default=Path(contract.TEMPLATES_FOLDER))
    parser.add_argument(
        "--work", type=Path, default=Path(contract.WORK_FOLDER), help="writable: home and scratch folders of steps"
    )
    parser.add_argument(
        "--temporary", type=Path, default=Path(contract.TEMPORARY_FOLDER), help="writable: where programs write by default"
    )
    return parser.parse_args(arguments)


def _prepare_process() -> None:
    """What all steps' processes inherit, that their orphans come to us, and that they cannot reach into us."""
    processes.become_subreaper()
    processes.hide()
    for limit, most in ((resource.RLIMIT_FSIZE, guard.WORK_LIMIT), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # a lower one is there already
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))


async def _run_until_stopped(plan: Plan, place: Place) -> int:
    code = await run_until_signal(_run(plan, place))
    if code is None:
        show("stopped early; the next runner resumes from here")
        return Exit.STOPPED
    return code


async def _run(plan: Plan, place: Place) -> int:
    clock = Clock()
    start = clock.seconds()
    async with await Api.connect(str(place.kubeconfig), manager="nestor-runner") as api:
        try:
            await wait_for_api(api, clock, plan.start_timeout_seconds, show)
            record = Record(api, clock)
            executor = Executor(Workspace(place, plan), plan, api)
            settling = Settling(api, clock, executor.execute)
            run = await Runner(plan, record.save, settling.execute, clock, show).run(await record.load())
        except (NoApi, ApiError) as error:
            show(f"no result: {error}")
            is_refused = isinstance(error, ApiError) and not error.is_transient
            return Exit.REFUSED if is_refused else Exit.NO_API
        except Superseded as error:
            show(f"no result: {error}")
            return Exit.SUPERSEDED
    return _conclude(run, clock.seconds() - start)


def _conclude(run: RunStatus, elapsed: float) -> int:
    if run.state == "Succeeded":
        show(f"all steps succeeded in {elapsed:.1f} s")
        return Exit.SUCCEEDED
    failed = next((step.name for step in run.steps if step.state == "Failed"), "?")
    left = sum(step.state == "Pending" for step in run.steps)
    show(f"step '{failed}' failed{f', {left} not run' if left else ''}")
    return Exit.STEP_FAILED
