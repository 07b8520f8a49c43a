"""Many jobs at once: the operator lives through the load that it makes, and no job is lost, even where it is killed meanwhile."""

import asyncio

import pytest

from nestor.api import conditions, labels, times
from nestor.api.objects import Object
from nestor.kube import Api, Change, Informer, kinds
from tests.e2e.conftest import LONGEST_SECONDS, apply, example
from tests.waiting import job_with, wait_for_any, wait_for_none

COUNT = 20
NAMES = [f"hello-{number}" for number in range(COUNT)]


class FirstStatus:
    """When each job of a namespace got its first status, in seconds after it was made, by the API server's clock."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.seconds: dict[str, float] = {}
        self.informer = Informer(api, kinds.NESTED_APP_JOB, namespace)
        self.informer.on_change(self._note)

    def _note(self, change: Change) -> None:
        meta = change.latest["metadata"]
        written = [item["time"] for item in meta.get("managedFields") or () if item.get("subresource") == "status"]
        if written and meta["name"] not in self.seconds:
            self.seconds[meta["name"]] = times.seconds_since(meta["creationTimestamp"], times.read(min(written)))


async def find_operator(api: Api) -> Object:
    """Its pod."""
    (pod,) = await api.list(kinds.POD, "nestor-system", labels="app.kubernetes.io/name=nestor")
    return pod


async def replaced(api: Api, pod: Object) -> Object:
    """Await the successor of a deleted pod that a controller keeps, ready."""

    def is_successor(item: Object) -> bool:
        return item["metadata"]["uid"] != pod["metadata"]["uid"] and conditions.is_true(item["status"].get("conditions"), "Ready")

    where = pod["metadata"]
    selected = ",".join(f"{key}={value}" for key, value in where["labels"].items() if key.startswith("app.kubernetes.io/name"))
    return await wait_for_any(api, kinds.POD, where["namespace"], is_successor, labels=selected)


async def kill(api: Api, times_killed: int, namespace: str) -> None:
    """Kill the operator again and again, each time when the one before has begun to work on a further job."""
    for number in range(times_killed):
        pod = await find_operator(api)
        await api.delete(kinds.POD, pod["metadata"]["name"], "nestor-system", grace_seconds=0)
        await replaced(api, pod)
        await job_with(api, NAMES[4 * number], namespace, conditions.ADMITTED, "True")


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.timeout(LONGEST_SECONDS)
@pytest.mark.parametrize("kills", [0, 5])
async def test_twenty_jobs_at_once(api: Api, namespace: str, kills: int) -> None:
    before = await find_operator(api)
    first = FirstStatus(api, namespace)
    watching = asyncio.create_task(first.informer.run())
    await first.informer.synced.wait()
    await asyncio.gather(*(apply(api, example("01-hello-world", name, namespace)) for name in NAMES))
    await kill(api, kills, namespace)
    for name in NAMES:
        await job_with(api, name, namespace, conditions.READY, "True")
    print(f"{COUNT} jobs, {kills} kills: first status after {max(first.seconds.values()):.0f} s at most")
    after = await find_operator(api)
    if not kills:
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert [item["restartCount"] for item in after["status"]["containerStatuses"]] == [0]
    assert first.seconds.keys() == set(NAMES)
    watching.cancel()
    for name in NAMES:
        await api.delete(kinds.NESTED_APP_JOB, name, namespace)
    await wait_for_none(api, kinds.NESTED_APP_JOB, namespace)
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_namespace=namespace))
