"""The probe of network policies as an API server takes it, with the rights of the chart; and what classes and jobs say."""

import pytest

from nestor.api import conditions
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, kinds
from nestor.operator.guests.enforcement.probe import Exit
from tests.integration import apiserver
from tests.integration.operator.conftest import operator_running
from tests.integration.operator.world import build_job, set_pod_status
from tests.waiting import exists, has, job_with, wait_for, wait_for_any, wait_for_none


async def be_kubelet(api: Api, code: Exit) -> str:
    """Run the two pods of the next probe, whose result is this one. Returns their namespace."""

    def is_scratch(item: Object) -> bool:
        return bool(item["metadata"]["name"].startswith("nestor-probe-")) and not item["metadata"].get("deletionTimestamp")

    found = await wait_for_any(api, kinds.NAMESPACE, "", is_scratch)
    home = str(found["metadata"]["name"])
    assert labels_of(found)["pod-security.kubernetes.io/enforce"] == "restricted"
    body = {"metadata": {"name": "default", "namespace": home}}
    await api.apply(kinds.SERVICE_ACCOUNT, body)
    await exists(api, kinds.POD, "listener", home)
    running = {"phase": "Running", "podIP": "10.42.0.9", "podIPs": [{"ip": "10.42.0.9"}]}
    await set_pod_status(api, "listener", home, running)
    caller = await exists(api, kinds.POD, "caller", home)
    assert caller["spec"]["containers"][0]["args"] == ["probe", "call", "10.42.0.9"]
    assert {item["metadata"]["name"] for item in await api.list(kinds.NETWORK_POLICY, home)} == {"listener", "caller"}
    state = {"terminated": {"exitCode": int(code)}}
    ended = {"name": "probe", "image": "x", "imageID": "x", "ready": False, "restartCount": 0, "state": state}
    status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [ended]}
    await set_pod_status(api, "caller", home, status)
    return home


async def accept(api: Api, value: str) -> None:
    """Have the default class say that."""
    await api.patch(kinds.NESTED_CLASS, "default", None, {"spec": {"network": {"unenforced": value}}})


@pytest.mark.slow
async def test_a_host_without_walls_is_said_until_an_admin_accepts_it(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    namespace = "team-walls"
    await lonely.apply(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    async with operator_running(second_plane, probes=True):
        home = await be_kubelet(lonely, Exit.NEITHER)
        is_open = has(conditions.NETWORK_ENFORCED, "False", conditions.NETWORK_NOT_ENFORCED)
        await wait_for(lonely, kinds.NESTED_CLASS, "default", "", is_open)
        await wait_for(lonely, kinds.NAMESPACE, home, "", lambda item: item is None or "deletionTimestamp" in item["metadata"])

        await lonely.apply(kinds.NESTED_APP_JOB, build_job("hello", namespace))
        job = await job_with(lonely, "hello", namespace, conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED)
        admitted = conditions.find(job["status"]["conditions"], conditions.ADMITTED) or {}
        assert "this cluster does not enforce NetworkPolicies" in admitted["message"]
        await wait_for_any(lonely, kinds.EVENT, namespace, lambda item: item["reason"] == "NetworkNotEnforced")

        await accept(lonely, "Accept")
        await job_with(lonely, "hello", namespace, conditions.ADMITTED, "True", conditions.ADMITTED_REASON)
        await accept(lonely, "Refuse")
        # The job that is there shows that the operator knows of it: one that is admitted before that would stay so.
        await job_with(lonely, "hello", namespace, conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED)
        await lonely.apply(kinds.NESTED_APP_JOB, build_job("late", namespace))
        await job_with(lonely, "late", namespace, conditions.ADMITTED, "False", conditions.NETWORK_NOT_ENFORCED)
        await accept(lonely, "Warn")
        await job_with(lonely, "late", namespace, conditions.ADMITTED, "True", conditions.NETWORK_NOT_ENFORCED)
        for name in ("hello", "late"):
            await lonely.delete(kinds.NESTED_APP_JOB, name, namespace)
        await wait_for_none(lonely, kinds.NESTED_APP_JOB, namespace)

    # The next operator knows it before its own probe has an end, and then better.
    async with operator_running(second_plane, probes=True):
        await wait_for(lonely, kinds.NESTED_CLASS, "default", "", is_open)
        await be_kubelet(lonely, Exit.ENFORCED)
        stands = has(conditions.NETWORK_ENFORCED, "True", conditions.POLICIES_ENFORCED)
        await wait_for(lonely, kinds.NESTED_CLASS, "default", "", stands)
