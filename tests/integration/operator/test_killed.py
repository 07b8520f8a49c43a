"""What an operator leaves behind that is killed in the midst of its writes, in whatever order they land, the next takes up."""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable

import pytest

from nestor.api import labels, names
from nestor.api.objects import conditions_of, status_of
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import operator_running
from tests.integration.operator.world import Object, build_job, start_server
from tests.releases import KINDS
from tests.waiting import eventually, wait_for_none

NAMES = ("plain", "second", "read")
OUTSIDE = (kinds.NAMESPACE, kinds.CLUSTER_ROLE_BINDING, kinds.NESTED_APP_JOB, kinds.ENDPOINT_SLICE)
"""Recorded kinds whose objects are not in a job's own namespace, or have random names."""


async def create_jobs(api: Api, namespace: str) -> None:
    """Two whose AppDef is known, and one whose AppDef is to be read first: it waits for that."""
    await api.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    for name in NAMES:
        body = build_job(name, namespace)
        if name == "read":
            del body["spec"]["app"]["appDef"]
        await api.create(kinds.NESTED_APP_JOB, body)


async def look(api: Api, name: str, namespace: str) -> Object:
    """A job with all that it has, without what no two jobs have in common."""
    job = await api.get(kinds.NESTED_APP_JOB, name, namespace)
    uid, status = job["metadata"]["uid"], status_of(job)
    home = names.job_namespace(name, namespace, uid)
    own = await api.find(kinds.NAMESPACE, home)
    nodes = await api.find(kinds.CLUSTER_ROLE_BINDING, home)
    owners = [item["uid"] for item in (nodes or {}).get("metadata", {}).get("ownerReferences", ())]
    found: Object = {
        "is recorded": own is not None and status.get("namespaceUID") == own["metadata"]["uid"],
        "is owned": own is not None and owners == [own["metadata"]["uid"]],
        "finalizers": job["metadata"].get("finalizers"),
        "conditions": {item["type"]: (item["status"], item["reason"]) for item in conditions_of(job)},
        "status": {key: status.get(key) for key in ("url", "steps", "targets", "kubeconfigSecretName", "className")},
        "kubeconfig": bool(await api.find(kinds.SECRET, f"{name}-kubeconfig", namespace)),
    }
    for kind in KINDS.values():
        if kind in OUTSIDE:
            continue
        for item in await api.list(kind, home):
            if item["metadata"]["name"] == names.server_pod(name):
                await start_server(api, name, home)
            said = {key: item[key] for key in ("spec", "roleRef", "subjects") if key in item}
            found[f"{kind.name} {item['metadata']['name']}"] = {} if kind in (kinds.POD, kinds.SERVICE) else said
    text = json.dumps(found, sort_keys=True)
    for volatile, word in ((home, "home"), (uid, "uid"), (namespace, "team")):
        text = text.replace(volatile, word)
    text = re.sub(r"10\.43(\.\d+){2}", "address", text)
    result: Object = json.loads(text)
    return result


async def look_at_all(api: Api, namespace: str) -> Object:
    """All of them."""
    return {name: await look(api, name, namespace) for name in NAMES}


async def let_die(plane: apiserver.ControlPlane, seed: str, writes: int, is_over: Callable[[], Awaitable[bool]]) -> None:
    """An operator works until that many of its writes have landed, or nothing is left to do; then it is killed."""
    async with operator_running(plane, mortal=True, more={"TEST_SEED": seed, "TEST_WRITES": str(writes)}) as operator:
        dead, over = asyncio.ensure_future(operator.process.wait()), asyncio.ensure_future(eventually(is_over))
        await asyncio.wait([dead, over], return_when=asyncio.FIRST_COMPLETED)
        if not dead.done():
            operator.kill()
            over.result()
        over.cancel()


def is_made(found: Object) -> bool:
    """Whether all jobs have what they need to go on."""
    ends = {"plain": "Pod plain-run", "second": "Pod second-run", "read": "Pod read-reader"}
    return all(pod in found[name] for name, pod in ends.items())


async def find_difference(api: Api, killed: str, control: str) -> str:
    """Between the jobs of both namespaces; empty once they have all that they need, and the same."""
    found, wanted = await asyncio.gather(look_at_all(api, killed), look_at_all(api, control))
    if not is_made(wanted):
        return f"{control}: not made yet"
    pairs = ((name, key, found[name].get(key), wanted[name].get(key)) for name in NAMES for key in found[name] | wanted[name])
    return "\n".join(f"{name}, {key}: {mine} for {theirs}" for name, key, mine, theirs in pairs if mine != theirs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [str(number) for number in range(20)])
async def test_an_operator_may_be_killed_at_any_time(second_plane: apiserver.ControlPlane, lonely: Api, seed: str) -> None:
    chance, killed, control = random.Random(seed), f"killed-{seed}", f"control-{seed}"
    await create_jobs(lonely, killed)

    async def are_made() -> bool:
        return is_made(await look_at_all(lonely, killed))

    for life in range(3):
        await let_die(second_plane, f"{seed}/{life}", chance.randint(1, 40), are_made)
    async with operator_running(second_plane):
        await create_jobs(lonely, control)
        last_seen = ""

        async def are_alike() -> bool:
            nonlocal last_seen
            last_seen = await find_difference(lonely, killed, control)
            return not last_seen

        await eventually(are_alike)
    for namespace in (killed, control):
        for name in NAMES:
            await lonely.delete(kinds.NESTED_APP_JOB, name, namespace)

    async def are_gone() -> bool:
        return not await lonely.list(kinds.NESTED_APP_JOB, killed)

    await let_die(second_plane, f"{seed}/end", chance.randint(1, 20), are_gone)
    async with operator_running(second_plane):
        for namespace in (killed, control):
            ours = labels.selector(job_namespace=namespace)
            await wait_for_none(lonely, kinds.NESTED_APP_JOB, namespace)
            await wait_for_none(lonely, kinds.NAMESPACE, "", labels=ours)
            await wait_for_none(lonely, kinds.CLUSTER_ROLE_BINDING, "", labels=ours)
