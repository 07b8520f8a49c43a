"""Faults of the process and of what it stands on, before a real API server: whenever it is killed, the end is the same."""

import asyncio
import datetime
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.api.contracts.vnode import SERVING_SIGNER
from nestor.api.objects import conditions_of, status_of
from nestor.cluster import certificates
from nestor.kube import kinds
from nestor.overflow.vnode import identity, restart
from nestor.overflow.vnode.pods import orphans
from nestor.overflow.vnode.restart import IdentityRefused
from tests.integration.vnode.world import Killer, World, ready_of
from tests.waiting import has, wait_for


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
