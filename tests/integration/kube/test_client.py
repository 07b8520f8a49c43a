"""The client against a real API server: verbs, errors, watches."""

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Conflict, Invalid, NotFound, RetryLater, Unreachable, kinds
from nestor.kube.pace import Pace, Rate
from tests.integration import apiserver


def config_map(name: str, namespace: str, **data: str) -> Object:
    """A ConfigMap."""
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


async def test_objects_are_created_once_found_patched_and_deleted(host: Api, namespace: str) -> None:
    created = await host.create(kinds.CONFIG_MAP, config_map("a", namespace, x="1"))
    with pytest.raises(Conflict) as again:
        await host.create(kinds.CONFIG_MAP, config_map("a", namespace))
    assert again.value.already_exists

    patched = await host.patch(kinds.CONFIG_MAP, "a", namespace, {"data": {"y": "2"}})
    assert patched["data"] == {"x": "1", "y": "2"}
    with pytest.raises(Conflict) as stale:
        await host.replace(kinds.CONFIG_MAP, created)
    assert not stale.value.already_exists

    assert not await host.delete(kinds.CONFIG_MAP, "a", namespace, uid="00000000-0000-0000-0000-000000000000")
    assert await host.find(kinds.CONFIG_MAP, "a", namespace)
    assert await host.delete(kinds.CONFIG_MAP, "a", namespace, uid=created["metadata"]["uid"])
    assert not await host.delete(kinds.CONFIG_MAP, "a", namespace)
    assert await host.find(kinds.CONFIG_MAP, "a", namespace) is None
    with pytest.raises(NotFound):
        await host.get(kinds.CONFIG_MAP, "a", namespace)


async def test_apply_takes_fields_over_from_other_managers(host: Api, namespace: str) -> None:
    await host.apply(kinds.CONFIG_MAP, config_map("a", namespace, x="1"))
    await host.patch(kinds.CONFIG_MAP, "a", namespace, {"data": {"x": "changed"}})
    applied = await host.apply(kinds.CONFIG_MAP, config_map("a", namespace, x="2"))
    assert applied["data"] == {"x": "2"}


async def test_lists_are_narrowed_by_the_server_and_carry_their_kind(host: Api, namespace: str) -> None:
    for name in ("a", "b"):
        body = config_map(name, namespace)
        body["metadata"]["labels"] = {"name": name}
        await host.create(kinds.CONFIG_MAP, body)
    (found,) = await host.list(kinds.CONFIG_MAP, namespace, labels="name=a")
    assert (found["apiVersion"], found["kind"], found["metadata"]["name"]) == ("v1", "ConfigMap", "a")
    (other,) = await host.list(kinds.CONFIG_MAP, namespace, fields="metadata.name=b")
    assert other["metadata"]["name"] == "b"


async def test_refused_objects_carry_the_servers_words(host: Api, namespace: str) -> None:
    with pytest.raises(Invalid, match="RFC 1123"):
        await host.create(kinds.CONFIG_MAP, config_map("Not A Name", namespace))


async def test_a_json_patch_whose_test_fails_changes_nothing(host: Api, namespace: str) -> None:
    await host.create(kinds.CONFIG_MAP, config_map("a", namespace, x="1"))
    patch = [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}, {"op": "remove", "path": "/data"}]
    with pytest.raises(Invalid):
        await host.patch(kinds.CONFIG_MAP, "a", namespace, patch, how="json")
    assert (await host.get(kinds.CONFIG_MAP, "a", namespace))["data"] == {"x": "1"}


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    async with await Api.from_kubeconfig(kubeconfig) as api:
        with pytest.raises(Unreachable, match="GET /readyz"):
            await api.request("GET", "/readyz")


@pytest.mark.parametrize("name", ["..", "../../../nodes", "a/b", "%2e%2e", ""])
async def test_a_name_never_becomes_another_path(host: Api, namespace: str, name: str) -> None:
    for body in ("a", "b"):
        await host.create(kinds.CONFIG_MAP, config_map(body, namespace))
    assert await host.find(kinds.CONFIG_MAP, name, namespace) is None
    assert not await host.delete(kinds.CONFIG_MAP, name, namespace)
    with pytest.raises(NotFound):
        await host.patch(kinds.CONFIG_MAP, name, namespace, {"data": {"x": "1"}})
    with pytest.raises(NotFound):
        await host.create(kinds.CONFIG_MAP, config_map("a", f"{namespace}/../kube-system"))
    assert len(await host.list(kinds.CONFIG_MAP, namespace, fields="metadata.name!=kube-root-ca.crt")) == 2


async def test_a_name_with_special_characters_reaches_the_server_as_a_name(host: Api, namespace: str) -> None:
    with pytest.raises(NotFound) as raised:
        await host.get(kinds.CONFIG_MAP, "a?limit=1#b c", namespace)
    assert raised.value.details["name"] == "a?limit=1#b c"


async def test_a_write_beyond_the_pace_is_not_sent_and_reads_and_deletions_are(
    host: Api, namespace: str, control_plane: apiserver.ControlPlane
) -> None:
    async with await Api.connect(str(control_plane.kubeconfig)) as api:
        api.pace = Pace(Rate(per_second=0.001, burst=2), Rate(1, 1_000_000), small=1000)
        created = await api.create(kinds.CONFIG_MAP, config_map("a", namespace, x="1"))
        await api.patch(kinds.CONFIG_MAP, "a", namespace, {"data": {"x": "2"}})
        for write in (
            api.create(kinds.CONFIG_MAP, config_map("b", namespace)),
            api.patch(kinds.CONFIG_MAP, "a", namespace, {"data": {"x": "3"}}),
            api.replace(kinds.CONFIG_MAP, created),
        ):
            with pytest.raises(RetryLater):
                await write
        assert (await api.get(kinds.CONFIG_MAP, "a", namespace))["data"] == {"x": "2"}
        assert await api.find(kinds.CONFIG_MAP, "b", namespace) is None
        assert await api.delete(kinds.CONFIG_MAP, "a", namespace)
