"""New Services get an address that is free in both clusters, or none at all of ours."""

import base64
import contextlib
import datetime
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import ApiError, Forbidden, Invalid, RetryLater, kinds
from nestor.syncer.cluster import addresses
from nestor.syncer.cluster.addresses import Addresses
from nestor.syncer.copies.rows.services import ServiceRow
from tests.unit.pods.translate.builders import build_service
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, Running, allow_most, remembered, running

ASKED = "10.43.7.7"
FREE = "10.43.9.9"
NEXT = "10.43.9.10"


@contextlib.asynccontextmanager
async def asking(clusters: Clusters) -> AsyncIterator[tuple[Running, Addresses]]:
    """A syncer, and what answers the nested API server."""
    async with running(clusters, ServiceRow) as made:
        yield made, Addresses(made.engine.row.context, made.engine)


def give(clusters: Clusters, *chosen: str, taken: str = "") -> None:
    """The host chooses these addresses, one after the other."""
    left = list(chosen)

    def refuse(verb: str, body: Object) -> Invalid | None:
        spec = body.get("spec") or {}
        if verb != "POST" or "ports" not in spec:
            return None
        if taken and spec.get("clusterIP") == taken:
            return Invalid(422, "Invalid", "failed to allocate IP: provided IP is already allocated")
        if "clusterIP" not in spec:
            spec["clusterIP"] = left.pop(0)
        return None

    clusters.host.refusal = refuse


def new_service(**spec: Any) -> Object:
    return {"metadata": {"name": "web"}, "spec": {"type": "ClusterIP", "ports": [{"port": 80}], "selector": {"a": "b"}, **spec}}


def build_request(**changes: Any) -> Object:
    resource = {"group": "", "version": "v1", "resource": "services"}
    common = {"uid": "u", "operation": "CREATE", "namespace": SPACE, "resource": resource, "object": new_service()}
    return common | changes


async def ask(asked: Addresses, service: Object, **changes: Any) -> Object:
    """What the API server is answered; the patch as path and value."""
    response: Object = (await asked.review({"request": build_request(object=service, **changes)}))["response"]
    assert response["allowed"] is True
    if "patch" in response:
        response["patch"] = {item["path"]: item["value"] for item in json.loads(base64.b64decode(response["patch"]))}
    return response


def arrive(clusters: Clusters, address: str, **spec: Any) -> Object:
    body = build_service(**({"clusterIP": address, "selector": {"a": "b"}} | spec))
    body["metadata"]["uid"] = "real-uid"
    return clusters.nested.put(kinds.SERVICE, body)


async def test_the_host_service_is_there_before_the_nested_one_and_stays_its_own() -> None:
    clusters = Clusters.build()
    give(clusters, FREE)
    async with asking(clusters) as (made, asked):
        assert (await ask(asked, new_service()))["patch"] == {"/spec/clusterIP": FREE}
        await made.settle()
        before = clusters.copy(kinds.SERVICE, "web")
        assert labels.RESERVED_UNTIL in before["metadata"]["annotations"]
        arrive(clusters, FREE)
        await made.settle()
        after = clusters.copy(kinds.SERVICE, "web")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["metadata"]["labels"][labels.NESTED_UID] == "real-uid"
        assert labels.RESERVED_UNTIL not in after["metadata"]["annotations"]
        assert (asked.reserved, asked.missed) == (1, 0)
        await made.drop_nested(kinds.SERVICE, "web", SPACE)
        assert clusters.copy(kinds.SERVICE, "web") is None
        assert remembered(made.engine) == 0


async def test_one_that_never_comes_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = Clusters.build()
    give(clusters, FREE)
    async with asking(clusters) as (made, asked):
        monkeypatch.setattr("nestor.syncer.copies.rows.services._RESERVATION", datetime.timedelta(seconds=0.3))
        await ask(asked, new_service())
        await made.until(lambda: clusters.copy(kinds.SERVICE, "web") is None)
        await made.settle()
        assert remembered(made.engine) == 0


async def test_one_that_failed_and_is_tried_again_gets_another_host_service() -> None:
    clusters = Clusters.build()
    give(clusters, FREE, NEXT)
    async with asking(clusters) as (made, asked):
        await ask(asked, new_service())
        await made.settle()
        assert (await ask(asked, new_service(selector={"c": "d"})))["patch"] == {"/spec/clusterIP": NEXT}
        arrive(clusters, NEXT, selector={"c": "d"})
        await made.settle()
        copy = clusters.copy(kinds.SERVICE, "web")
        assert copy["spec"]["clusterIP"] == NEXT


async def test_one_that_exists_is_left_to_the_api_server() -> None:
    """It says that it exists, and not that its address is taken."""
    clusters = Clusters.build()
    arrive(clusters, ASKED)
    async with asking(clusters) as (_, asked):
        clusters.host.asked.clear()
        assert "patch" not in await ask(asked, new_service())
        assert clusters.host.asked == []
        assert (asked.reserved, asked.missed) == (0, 0)


async def test_an_address_that_is_free_on_the_host_alone_is_of_no_use() -> None:
    clusters = Clusters.build()
    give(clusters, FREE)
    other = build_service("other", clusterIP=FREE)
    clusters.nested.put(kinds.SERVICE, other | {"metadata": {"name": "other", "namespace": SPACE}})
    async with asking(clusters) as (made, asked):
        assert "patch" not in await ask(asked, new_service())
        assert asked.missed == 1
        await made.settle()
        assert clusters.copy(kinds.SERVICE, "web") is None


@pytest.mark.parametrize(
    "error",
    [Forbidden(403, "Forbidden", "exceeded quota"), ApiError(500, "InternalError", "no"), RetryLater(60, "too many writes")],
    ids=["quota", "outage", "pace"],
)
async def test_whatever_fails_does_not_keep_a_service_from_being_made(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "PATIENCE_SECONDS", 0.05)
    clusters = Clusters.build()

    def refuse(verb: str, body: Object) -> Any:
        return error if verb == "POST" and (body.get("metadata") or {}).get("namespace") == HOST else None

    clusters.host.refusal = refuse
    async with asking(clusters) as (_, asked):
        assert "patch" not in await ask(asked, new_service())
        assert (asked.reserved, asked.missed) == (0, 1)


async def test_there_are_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """An admin of the nested cluster can ask without ever creating anything."""
    allow_most(monkeypatch, kinds.SERVICE, 2)
    clusters = Clusters.build()
    give(clusters, FREE, NEXT)
    async with asking(clusters) as (made, asked):
        for number in range(4):
            await ask(asked, new_service() | {"metadata": {"name": f"web-{number}"}})
            await made.settle()
        assert (asked.reserved, asked.missed) == (2, 2)
        monkeypatch.setattr(addresses, "_LIMIT", 0)
        await ask(asked, new_service())
        assert asked.missed == 3


async def test_somebody_else_s_host_service_is_left_alone() -> None:
    clusters = Clusters.build()
    there = clusters.add_foreign(kinds.SERVICE, "web", spec={"clusterIP": ASKED})
    async with asking(clusters) as (_, asked):
        assert "patch" not in await ask(asked, new_service())
        assert clusters.host.look(kinds.SERVICE, names.host_name("web", SPACE), HOST) == there


async def test_what_has_no_host_service_and_what_is_no_question_changes_nothing() -> None:
    clusters = Clusters.build()
    async with asking(clusters) as (made, asked):
        named = new_service(type="ExternalName", externalName="example.org")
        for service in (new_service(clusterIP="None"), named, {"metadata": {"name": "kubernetes"}, "spec": {}}):
            assert "patch" not in await ask(asked, service, namespace="default")
        for body in ({}, {"request": None}, {"request": {"uid": "u"}}):
            assert (await asked.review(body))["response"]["allowed"] is True
        await made.settle()
        assert clusters.host.asked == []


async def test_before_the_caches_are_filled_the_api_servers_are_asked() -> None:
    """The first Services of a job are made at once, while the syncer still starts."""
    clusters = Clusters.build()
    give(clusters, FREE, NEXT)
    other = build_service("other", clusterIP=FREE)
    clusters.nested.put(kinds.SERVICE, other | {"metadata": {"name": "other", "namespace": SPACE}})
    async with asking(clusters) as (made, asked):
        made.caches.nested(kinds.SERVICE).synced.clear()
        made.caches.nested(kinds.SERVICE).store.clear()
        assert "patch" not in await ask(asked, new_service())
        assert (asked.reserved, asked.missed) == (0, 1)
        assert (await ask(asked, new_service()))["patch"] == {"/spec/clusterIP": NEXT}
        arrive(clusters, NEXT)
        assert "patch" not in await ask(asked, new_service())
        assert (asked.reserved, asked.missed) == (1, 1)


async def test_node_ports_that_the_nested_cluster_has_given_away_are_left_to_it() -> None:
    clusters = Clusters.build(services={"nodePorts": True})
    other = build_service("other", type="LoadBalancer", ports=[{"port": 80, "nodePort": 30001}])
    clusters.nested.put(kinds.SERVICE, other | {"metadata": {"name": "other", "namespace": SPACE}})

    def choose(verb: str, body: Object) -> None:
        if verb == "POST" and "ports" in (body.get("spec") or {}):
            body["spec"] |= {"clusterIP": FREE, "ports": [body["spec"]["ports"][0] | {"nodePort": 30001}]}

    async with asking(clusters) as (_, asked):
        clusters.host.refusal = choose
        assert (await ask(asked, new_service(type="NodePort")))["patch"] == {"/spec/clusterIP": FREE}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, True),
        ({"object": {"metadata": {"generateName": "web-"}, "spec": {}}}, True),
        ({"object": {"metadata": {"name": "web"}, "spec": {"clusterIP": "10.43.0.9"}}}, True),
        ({"dryRun": True}, False),
        ({"operation": "UPDATE"}, False),
        ({"resource": {"group": "", "resource": "pods"}}, False),
        ({"resource": {"group": "", "resource": "services"}, "subResource": "status"}, False),
        ({"resource": "services"}, False),
        ({"object": "x"}, False),
        ({"object": {"metadata": {}, "spec": {}}}, False),
        ({"object": {"metadata": {"name": 7}, "spec": {}}}, False),
        ({"object": {"metadata": {"name": "web"}, "spec": []}}, False),
        ({"namespace": None}, False),
    ],
)
def test_what_gets_an_address(changes: Object, found: bool) -> None:
    candidate = addresses.find_candidate(build_request(**changes))
    assert (candidate is not None) is found
    assert candidate is None or candidate["metadata"]["namespace"] == "shop"


@pytest.mark.parametrize(
    ("kind", "copy_kind", "number", "ports"),
    [
        ("ClusterIP", "ClusterIP", None, None),
        ("NodePort", "ClusterIP", 30001, None),
        ("NodePort", "NodePort", 30001, 30001),
        ("LoadBalancer", "LoadBalancer", 32767, 32767),
        ("NodePort", "NodePort", 20001, None),
    ],
)
def test_the_new_service_gets_what_the_host_has_given(kind: str, copy_kind: str, number: int | None, ports: int | None) -> None:
    given = ["10.43.0.9", "fd00::9"]
    copy = {"clusterIP": given[0], "clusterIPs": given, "type": copy_kind, "ports": [{"port": 80, "nodePort": number}]}
    patch = addresses.build_patch(new_service(type=kind), {"spec": copy}, "web")
    expected = [("/spec/clusterIP", given[0]), ("/spec/clusterIPs", given)]
    assert [(item["path"], item["value"]) for item in patch] == expected + ([("/spec/ports/0/nodePort", ports)] if ports else [])
    assert {item["op"] for item in patch} == {"add"}
