"""Notices: a real operator tells real servers, which may be down, slow or rude, what becomes of jobs."""

import base64
import uuid
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.kube import Api, Invalid, kinds
from tests.addresses import own_address
from tests.fakes.sink import FakeSink, answering, hang_up, make_tls
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import POLICY, come_to, start
from tests.integration.operator.world import STEP, Object, build_class
from tests.waiting import eventually, exists, gone, job_with

NESTED: Object = {"templates": [STEP]}
SYSTEM = "nestor-system"


@pytest.fixture
def address() -> str:
    """Where sinks listen: notices are not sent to loopback."""
    found = own_address()
    if found is None:
        pytest.skip("this machine has loopback alone")
    return found


async def make_class(api: Api, *sinks: Object, name: str = "") -> str:
    """A class with these sinks."""
    name = name or f"told-{uuid.uuid4().hex[:6]}"
    body = build_class(name)
    body["spec"]["notices"] = list(sinks)
    await api.apply(kinds.NESTED_CLASS, body)
    return name


async def settled(api: Api, name: str, namespace: str) -> Object:
    """The job, once nothing is owed to anybody."""

    def is_it(job: Object | None) -> bool:
        return not (job or {}).get("status", {}).get("notices")

    return await exists(api, kinds.NESTED_APP_JOB, name, namespace, is_it)


async def until_types(sink: FakeSink, *types: str, subject: str = "") -> None:
    """Await that these events have arrived, each for the first time in this order."""

    async def look() -> bool:
        return list(dict.fromkeys(sink.types(subject))) == list(types)

    await eventually(look)


async def until_asked(sink: FakeSink, count: int) -> None:
    """Await this many requests."""

    async def look() -> bool:
        return len(sink.asked) >= count

    await eventually(look)


async def make_secret(api: Api, name: str, **data: str) -> None:
    """A Secret in the operator's namespace."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    await api.apply(kinds.SECRET, {"metadata": {"name": name, "namespace": SYSTEM}, "data": encoded})


async def test_sinks_are_told_of_a_job_from_ready_to_its_end_and_a_dead_one_harms_nobody(
    operator: Operator, api: Api, namespace: str, address: str, tmp_path: Path
) -> None:
    portal, grid, dead = FakeSink(), FakeSink(), FakeSink()
    tls, authority = make_tls(tmp_path, address)
    keys = {"token": "s3cret", "ca.crt": authority}
    await make_secret(api, "portal", **keys)
    await make_secret(api, "grid", header="aeg-sas-key", **keys)
    dead.faults, portal.faults = [dead.hang] * 99, [answering(500), hang_up]
    async with portal.serve(address, tls=tls) as url, grid.serve(address, tls=tls) as second, dead.serve(address) as third:
        name = await make_class(
            api,
            {"name": "portal", "url": url, "secretName": "portal"},
            {"name": "grid", "url": second, "secretName": "grid"},
            {"name": "dead", "url": third},
        )
        good, inside = await start(api, "good", namespace, nested=NESTED, className=name, successPolicy=POLICY)
        _, failing = await start(api, "bad", namespace, nested=NESTED, className=name, successPolicy=POLICY)
        await come_to(api, "good", inside, "Succeeded", "Job 'pi' is complete")
        await come_to(api, "bad", failing, "Failed", "Job 'pi' has failed")
        for sink in (portal, grid):
            await until_types(sink, "ready", "succeeded", subject=f"{namespace}/good")
            await until_types(sink, "ready", "failed", subject=f"{namespace}/bad")
        job = await job_with(api, "good", namespace, conditions.SUCCEEDED, "True")
        await until_asked(dead, 1)
        await api.delete(kinds.NESTED_APP_JOB, "bad", namespace)
        await gone(api, kinds.NESTED_APP_JOB, "bad", namespace)
        # Away with it: then its events are owed to nobody.
        await make_class(api, {"name": "portal", "url": url, "secretName": "portal"}, name=name)
        status = (await settled(api, "good", namespace))["status"]
    assert {item["authorization"] for item in portal.headers} == {"Bearer s3cret"}
    assert {item["aeg-sas-key"] for item in grid.headers} == {"s3cret"}
    told = next(item for item in grid.events if item["type"] == "dev.nestor.job.succeeded")
    succeeded = conditions.find(job["status"]["conditions"], conditions.SUCCEEDED) or {}
    uid = good["metadata"]["uid"]
    assert told["id"] == f"{uid}.succeeded.{succeeded['lastTransitionTime']}"
    assert told["source"] == f"/apis/nestor.dev/v1alpha1/namespaces/{namespace}/nestedappjobs/good"
    data = told["data"]
    assert (data["uid"], data["className"], data["reason"], data["command"]) == (uid, name, "Completed", "Hello")
    assert (data["message"], data["completionTime"]) == ("Job 'pi' is complete", status["completionTime"])


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ({"url": "http://169.254.169.254/latest"}, "link-local"),
        ({"url": "https://user:password@portal.test/"}, "without user, password or query"),
        ({"url": "http://portal.test/", "secretName": "a"}, "must be an https URL"),
        ({"url": "ftp://portal.test/"}, "must be a URL"),
    ],
)
async def test_what_no_sink_may_be(api: Api, sink: Object, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        await make_class(api, {"name": "portal", **sink})
