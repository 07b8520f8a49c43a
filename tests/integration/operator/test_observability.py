"""What is seen of jobs and of the operator from outside."""

from nestor.api import conditions
from nestor.kube import Api, kinds
from nestor.operator.guests.enforcement.probe import Exit
from tests.describing import find_unexplained
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.faults import FAULTS, clean, open_site
from tests.integration.operator.test_enforcement import be_kubelet
from tests.integration.operator.world import be_ready_server, be_target, build_job, host_namespace, run_of
from tests.waiting import eventually, job_with


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
    assert found["nestor_operator_requests_total", "200", "WATCH"] >= sum(
        map(bool, silences.values())
    )  # not of what nobody wants
    assert found["nestor_operator_requests_total", "201", "POST"] > 0
    assert not any(name in label for key in found for label in key[1:] for name in ("watched", namespace))


async def is_counted(operator: Operator, before: dict[tuple[str, ...], float]) -> bool:
    """Whether all stages of one more job were timed."""
    found = await operator.read_metrics()
    keys = [("nestor_job_stage_seconds_count", stage) for stage in conditions.TIMED]
    return all(found[key] >= before[key] + 1 for key in keys)


async def test_describe_alone_explains_each_fault(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    """Cause, place and next step of each, as `kubectl describe naj` shows them: nothing else is looked at."""
    assert len(FAULTS) >= 12
    namespace = "team-faults"
    await lonely.apply(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    async with operator_running(second_plane, probes=True) as operator:
        await be_kubelet(lonely, Exit.NEITHER)
        sites = {fault: await open_site(operator, lonely, namespace, fault.name) for fault in FAULTS}
        try:
            for fault, site in sites.items():
                await fault.make(site)
            kubectl = str(apiserver.binary("kubectl"))
            assert await find_unexplained(lonely, kubectl, second_plane.kubeconfig, namespace, FAULTS) == []
        finally:
            for site in sites.values():
                await clean(site)
