"""Faults, and whether `kubectl describe naj` alone tells their users cause, place and next step."""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from tests import children
from tests.waiting import wait_for, wait_for_any

Site = TypeVar("Site")


@dataclass(frozen=True)
class Fault(Generic[Site]):
    """One row: `make` brings it about. `cause`, `place` and `step`: parts of what the user of its job is to read."""

    name: str
    make: Callable[[Site], Awaitable[Any]]
    reason: str
    cause: str
    place: str
    step: str
    event: str = ""
    """The reason of its Warning event; empty if it is no event."""


async def find_unexplained(
    api: Api, kubectl: str, kubeconfig: Path, namespace: str, faults: Iterable[Fault[Any]], *, job: str = ""
) -> list[str]:
    """Await the faults' words in the status of their jobs, or of `job`; what the descriptions of these lack."""
    found = list(faults)
    await asyncio.gather(*(_await_words(api, namespace, job or fault.name, fault) for fault in found))
    texts = {fault: await _describe(kubectl, kubeconfig, job or fault.name, namespace) for fault in found}
    return [problem for fault, text in texts.items() if (problem := _find_problem(fault, text))]


async def _describe(kubectl: str, kubeconfig: Path, name: str, namespace: str) -> str:
    """What kubectl says of the job, in one line: it breaks long ones where it likes."""
    command = (kubectl, "--kubeconfig", str(kubeconfig), "-n", namespace, "describe", "naj", name)
    async with children.running(*command, stdout=asyncio.subprocess.PIPE) as process:
        output, _ = await asyncio.wait_for(process.communicate(), 120)
    return " ".join(output.decode().split())


async def _await_words(api: Api, namespace: str, name: str, fault: Fault[Any]) -> None:
    """Until the job's status and its event are there."""
    await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, functools.partial(_is_told, fault))
    if fault.event:
        await wait_for_any(api, kinds.EVENT, namespace, functools.partial(_is_about, name, fault))


def _find_problem(fault: Fault[Any], text: str) -> str | None:
    """What a fault's description lacks."""
    head, _, events = text.partition(" Events: ")
    step = head.partition(" Next Step: ")[2]
    missing = [part for part in (f"Reason: {fault.reason} ", fault.cause, fault.place) if part not in head]
    missing += [part for part in (fault.step,) if part not in step]
    missing += [fault.event] if fault.event and f"Warning {fault.event} " not in events else []
    return f"{fault.name}: {missing} not in {text}" if missing else None


def _is_told(fault: Fault[Any], job: Object | None) -> bool:
    """Whether the job's status has the cause and something to do."""
    status = status_of(job)
    return fault.cause in json.dumps(status) and fault.step in status.get("nextStep", "")


def _is_about(name: str, fault: Fault[Any], event: Object) -> bool:
    """Whether this is its event."""
    return bool(event["reason"] == fault.event and event["involvedObject"]["name"] == name)
