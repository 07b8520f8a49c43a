"""Faults of the process and of what it stands on, before a real API server: whenever it is killed, the end is the same."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.api.contracts.vnode import SERVING_SIGNER
from nestor.api.objects import Object, conditions_of, status_of
from nestor.cluster import certificates
from nestor.kube import kinds
from nestor.overflow.vnode import identity, restart
from nestor.overflow.vnode.pods import decide, orphans
from nestor.overflow.vnode.restart import IdentityRefused
from tests.integration.vnode.world import Killer, World, ready_of
from tests.waiting import eventually, has, wait_for


async def go_through(world: World, name: str) -> str:
    """A pod is bound, runs and ends. Returns its UID."""
    uid = await world.bind(name)
    await world.until(lambda: uid in world.backend.pods)
    world.backend.end(uid)
    await world.pod(name, lambda pod: status_of(pod).get("phase") == "Succeeded")
    await world.api.delete(kinds.POD, name, world.space)
    await world.pod(name, lambda pod: pod is None)
    return uid


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_it_may_be_killed_at_any_write_from_its_start_on(
    virtual: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, moment: str
) -> None:
    """Certificates, the Node, its Lease, the backend's status, the pod, and events; it starts without any certificate."""
    # A finished pod may be deleted while nobody is there: it is an orphan then.
    monkeypatch.setattr(orphans, "LOOK_SECONDS", 0.2)
    await virtual.stop()
    number, has_been_killed, writes = 0, True, Counter[str]()

    def is_write(method: str, path: str) -> bool:
        if method != "GET":
            writes[f"{method} {path.partition('?')[0].rstrip('0123456789')}"] += 1
        return method != "GET"

    while has_been_killed:
        number += 1
        virtual.settings = replace(virtual.settings, folder=tmp_path / f"{moment}-{number}")
        with monkeypatch.context() as patched:
            killer = Killer(virtual, is_write, number, moment, patched)
            living = asyncio.create_task(go_through(virtual, f"web-{number}"))
            virtual.begin_to_start()
            dead = asyncio.create_task(killer.killed.wait())
            await asyncio.wait([living, dead], return_when=asyncio.FIRST_COMPLETED)
            has_been_killed = killer.killed.is_set()
            dead.cancel()
            await virtual.stop()
        await virtual.start()
        uid = await living
        await virtual.node(lambda node: ready_of(node)[0] == "True")
        assert virtual.backend.starts[uid] == 1, f"write {number}: {writes}"
        await virtual.until(lambda: not virtual.backend.pods)
        await virtual.stop()
    for what in ("certificatesigningrequests", "leases", "/pods/", "events"):
        assert what in " ".join(writes)


async def test_a_finished_pod_that_is_deleted_while_nobody_is_there_leaves_nothing(
    virtual: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No grace period holds it: the API server removes it at once."""
    uid = await virtual.bind("web")
    await virtual.accepted("web")
    virtual.backend.end(uid)
    await virtual.phase("web", "Succeeded")
    await virtual.stop()
    await virtual.api.delete(kinds.POD, "web", virtual.space)
    assert await virtual.api.find(kinds.POD, "web", virtual.space) is None
    assert uid in virtual.backend.pods
    monkeypatch.setattr(orphans, "LOOK_SECONDS", 0.2)
    await virtual.start()
    await virtual.until(lambda: not virtual.backend.pods)
    assert virtual.backend.starts == {uid: 1}


@pytest.mark.slow
async def test_a_namespace_goes_though_the_backend_is_gone_and_what_may_be_left_is_named(
    virtual: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job is deleted with its namespace, which takes no events by then."""
    uid = await virtual.bind("web", terminationGracePeriodSeconds=1)
    await virtual.accepted("web")
    virtual.backend.run(uid)
    await virtual.phase("web", "Running")
    virtual.backend.is_down = True
    monkeypatch.setattr(decide, "FORGET_SECONDS", 1.0)
    await virtual.api.delete(kinds.NAMESPACE, virtual.space)
    await wait_for(virtual.api, kinds.NAMESPACE, virtual.space, "", lambda found: found is None)

    async def find_event() -> Object | None:
        events = await virtual.api.list(kinds.EVENT, "default")
        found = [item for item in events if item["reason"] == "LeftAtBackend" and uid in item["message"]]
        return found[0] if found else None

    event = await eventually(find_event)
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Node", virtual.name)
    virtual.backend.is_down = False
    await virtual.until(lambda: uid not in virtual.backend.pods)


async def test_a_certificate_of_an_authority_of_before_is_replaced(virtual: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster's authorities were replaced while the process was away: its file has one that is valid, and not accepted."""
    await virtual.stop()
    monkeypatch.setattr(restart, "PAUSE_SECONDS", 0.1)
    file = virtual.settings.folder / f"client-{virtual.name}.pem"
    now = datetime.datetime.now(datetime.UTC)
    user = f"system:node:{virtual.name}"
    leaf = certificates.new_leaf(certificates.new_authority("before", now), user, now, organization="system:nodes")
    file.write_bytes(leaf.certificate + leaf.key)
    starting = asyncio.create_task(virtual.start())
    with pytest.raises(ExceptionGroup) as caught:
        await starting
    assert caught.group_contains(IdentityRefused)
    virtual._task = None
    await virtual.start()
    await virtual.bind("web")
    await virtual.accepted("web")


async def test_where_nobody_signs_serving_certificates_pods_run_and_that_is_told(
    virtual: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await virtual.stop()
    monkeypatch.setattr(identity, "NOTICE_SECONDS", 1.0)
    virtual.settings = replace(virtual.settings, folder=tmp_path / "fresh")
    virtual.unanswered = SERVING_SIGNER
    await virtual.start()
    kind = kinds.OVERFLOW_BACKEND
    found = await wait_for(virtual.api, kind, virtual.name, "", has("Certified", "False", "CertificateNotIssued"))
    told = conditions.find(conditions_of(found), "Certified") or {}
    assert f"the serving certificate of node '{virtual.name}'" in told["message"]
    uid = await virtual.bind("web")
    await virtual.accepted("web")
    virtual.unanswered = ""
    await wait_for(virtual.api, kind, virtual.name, "", lambda body: conditions.find(conditions_of(body), "Certified") is None)
    assert uid in virtual.backend.pods


@pytest.mark.slow
async def test_a_backend_that_restarts_and_forgets_is_asked_for_a_minute(virtual: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its pods are given up; what comes back later is ended, and nothing has run twice."""
    first, second = await virtual.bind("first"), await virtual.bind("second")
    for name, uid in (("first", first), ("second", second)):
        await virtual.accepted(name)
        virtual.backend.run(uid)
        await virtual.phase(name, "Running")
    forgotten = dict(virtual.backend.pods)
    virtual.backend.pods.clear()
    begin = virtual.backend.count("statuses")
    await virtual.until(lambda: virtual.backend.count("statuses") >= begin + 3)
    assert status_of(await virtual.api.get(kinds.POD, "first", virtual.space))["phase"] == "Running"
    virtual.backend.pods[first] = forgotten[first]
    monkeypatch.setattr(decide, "LOST_SECONDS", 2.0)
    assert status_of(await virtual.phase("second", "Failed"))["reason"] == "BackendLost"
    assert status_of(await virtual.api.get(kinds.POD, "first", virtual.space))["phase"] == "Running"
    virtual.backend.pods[second] = forgotten[second]
    await virtual.until(lambda: second not in virtual.backend.pods)
    assert virtual.backend.starts == {first: 1, second: 1}


async def test_a_gpu_lets_pods_onto_nodes_tainted_by_its_name_where_the_host_says_so(virtual: World) -> None:
    """The admission plugin ExtendedResourceToleration: no rule of a class can take that toleration away again."""
    plain, resource = "plain", "example.com/gpu"
    await virtual.bind(plain)
    container = {"name": "app", "image": "example/web:1", "resources": {"limits": {resource: "1"}}}
    await virtual.bind("gpu", containers=[container])
    found = {name: await virtual.api.get(kinds.POD, name, virtual.space) for name in (plain, "gpu")}
    keys = {name: {item["key"] for item in pod["spec"]["tolerations"]} for name, pod in found.items()}
    assert resource in keys["gpu"]
    assert resource not in keys[plain]
