"""What is seen of jobs and of the operator from outside."""

from __future__ import annotations

import asyncio
import functools
import json

from nestor.api import conditions
from nestor.contracts.probe import Exit
from nestor.kube import Api, kinds
from nestor.objects import status_of
from tests import children
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.faults import FAULTS, Fault, clean, open_site
from tests.integration.operator.test_enforcement import be_kubelet
from tests.integration.operator.world import Object, be_ready_server, be_target, build_job, host_namespace, run_of
from tests.waiting import eventually, job_with, wait_for, wait_for_any


async def test_metrics_follow_a_job_and_name_nobody(operator: Operator, api: Api, namespace: str) -> None:
    before = await operator.read_metrics()
    job = await api.create(kinds.NESTED_APP_JOB, build_job("watched", namespace))
    where = await host_namespace(api, job)
    await be_ready_server(api, "watched", where)
    await be_ready_server(api, "watched", where, run=await run_of(api, "watched", where, "Succeeded"))
    await be_target(api, where, job)
    await job_with(api, "watched", namespace, conditions.READY, "True")
    await eventually(lambda: is_counted(operator, before))
    found = await operator.read_metrics()
    assert found["nestor_jobs", "default", "Ready"] >= 1
    silences = {key[1]: value for key, value in found.items() if key[0] == "nestor_operator_watch_silence_seconds"}
    assert {kind.plural for kind in (kinds.POD, kinds.NAMESPACE, kinds.NESTED_APP_JOB, kinds.OVERFLOW_BACKEND)} <= silences.keys()
    assert max(silences.values()) < 600
    # kopf's own requests are among them: nobody else watches jobs.
    assert found["nestor_operator_requests_total", "200", "WATCH"] >= len(silences)
    assert found["nestor_operator_requests_total", "201", "POST"] > 0
    assert not any(name in label for key in found for label in key[1:] for name in ("watched", namespace))


async def is_counted(operator: Operator, before: dict[tuple[str, ...], float]) -> bool:
    """Whether all stages of one more job were timed."""
    found = await operator.read_metrics()
    keys = [("nestor_job_stage_seconds_count", stage) for stage in conditions.TIMED]
    return all(found[key] >= before[key] + 1 for key in keys)


async def describe(plane: apiserver.ControlPlane, name: str, namespace: str) -> str:
    """What kubectl says of the job, in one line: it breaks long ones where it likes."""
    command = (str(apiserver.binary("kubectl")), "--kubeconfig", str(plane.kubeconfig), "-n", namespace, "describe", "naj", name)
    async with children.running(*command, stdout=asyncio.subprocess.PIPE) as process:
        output, _ = await asyncio.wait_for(process.communicate(), 120)
    return " ".join(output.decode().split())


async def test_describe_alone_explains_each_fault(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    """Cause, place and next step of each, as `kubectl describe naj` shows them: nothing else is looked at."""
    assert len(FAULTS) >= 12
    namespace = "team-faults"
    await lonely.apply(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    async with operator_running(second_plane, probes=True):
        await be_kubelet(lonely, Exit.NEITHER)
        sites = {fault: await open_site(lonely, namespace, fault.name) for fault in FAULTS}
        try:
            for fault, site in sites.items():
                await fault.make(site)
            await asyncio.gather(*(await_words(lonely, namespace, fault) for fault in FAULTS))
            found = {fault: await describe(second_plane, fault.name, namespace) for fault in FAULTS}
            assert [problem for fault, text in found.items() if (problem := find_problem(fault, text))] == []
        finally:
            for site in sites.values():
                await clean(site)


async def await_words(api: Api, namespace: str, fault: Fault) -> None:
    """Until the job's status and its event are there."""
    await wait_for(api, kinds.NESTED_APP_JOB, fault.name, namespace, functools.partial(is_told, fault), limit=120)
    if fault.event:
        await wait_for_any(api, kinds.EVENT, namespace, functools.partial(is_about, fault))


def find_problem(fault: Fault, text: str) -> str | None:
    """What a fault's description lacks."""
    head, _, events = text.partition(" Events: ")
    step = head.partition(" Next Step: ")[2]
    missing = [part for part in (f"Reason: {fault.reason} ", fault.cause, fault.place) if part not in head]
    missing += [part for part in (fault.step,) if part not in step]
    missing += [fault.event] if fault.event and f"Warning {fault.event} " not in events else []
    return f"{fault.name}: {missing} not in {text}" if missing else None


def is_told(fault: Fault, job: Object | None) -> bool:
    """Whether the job's status has the cause and something to do."""
    status = status_of(job)
    return fault.cause in json.dumps(status) and fault.step in status.get("nextStep", "")


def is_about(fault: Fault, event: Object) -> bool:
    """Whether this is its event."""
    return bool(event["reason"] == fault.event and event["involvedObject"]["name"] == fault.name)
