"""ConfigMaps and Secrets follow the pods that name them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from nestor import names
from nestor.kube import Kind, kinds
from nestor.translate.env import links_name
from tests.integration.syncer.pods import build_pod, condition, start
from tests.integration.syncer.world import World

Object = dict[str, Any]


def config_map(space: str, name: str, **data: str) -> Object:
    """A nested ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space}, "data": data}


def secret(space: str, name: str, kind: str = "Opaque", **data: str) -> Object:
    """A nested Secret."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": space}, "type": kind, "data": encoded}


async def host_data(world: World, kind: Kind, space: str, name: str) -> Object | None:
    """The data of a host copy, or None."""
    found = await world.host.find(kind, names.host_name(name, space), world.namespace)
    return None if found is None else found.get("data") or {}


async def test_what_a_pod_names_is_there_before_the_pod_and_follows_changes(world: World, space: str) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red", size="1"))
    await world.nested.create(kinds.SECRET, secret(space, "password", word="sesame"))
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "unrelated", x="y"))
    pod = build_pod(
        space,
        container={
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "password", "key": "word"}}}],
        },
    )
    nested = await world.nested.create(kinds.POD, pod)
    host = await world.host_pod(nested)
    assert await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "red", "size": "1"}
    assert await host_data(world, kinds.SECRET, space, "password") == {"word": base64.b64encode(b"sesame").decode()}
    variables = {item["name"]: item for item in host["spec"]["containers"][0]["env"]}
    assert variables["PASSWORD"]["valueFrom"]["secretKeyRef"]["name"] == names.host_name("password", space)

    change = {"data": {"color": "blue", "size": None}}
    await world.nested.patch(kinds.CONFIG_MAP, "settings", space, change)

    async def followed() -> bool:
        return await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "blue"}

    await world.eventually(followed)
    await world.heard()
    assert await host_data(world, kinds.CONFIG_MAP, space, "unrelated") is None


async def test_copies_go_with_their_last_pod(world: World, space: str) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
    first, first_host = await start(world, build_pod(space, "first", volumes=volumes))
    second, second_host = await start(world, build_pod(space, "second", volumes=volumes))
    for nested, host, remains in ((first, first_host, True), (second, second_host, False)):
        await world.nested.delete(kinds.POD, nested["metadata"]["name"], space, grace_seconds=0)
        await world.finish(host)
        await world.gone(world.host, kinds.POD, host)

        async def as_expected(remains: bool = remains) -> bool:
            return (await host_data(world, kinds.CONFIG_MAP, space, "settings") is not None) == remains

        await world.eventually(as_expected)

    async def no_tokens() -> bool:
        found = await world.host.list(kinds.SECRET, world.namespace, labels="nestor.dev/purpose=token")
        return not [item for item in found if item["metadata"]["labels"]["nestor.dev/nested-namespace"] == space]

    await world.eventually(no_tokens)


async def test_pods_that_run_one_after_the_other_share_their_copies(world: World, space: str) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    needed = [names.host_name(name, space) for name in ("settings", "kube-root-ca.crt")] + [links_name(space)]
    copies = set()
    for number in range(12):
        pod = build_pod(space, f"job-{number}", volumes=[{"name": "settings", "configMap": {"name": "settings"}}])
        nested, host = await start(world, pod)
        found = [await world.host.get(kinds.CONFIG_MAP, name, world.namespace) for name in needed]
        copies |= {item["metadata"]["uid"] for item in found}
        await world.nested.delete(kinds.POD, nested["metadata"]["name"], space, grace_seconds=0)
        await world.finish(host)
        await world.gone(world.host, kinds.POD, host)
    assert len(copies) == len(needed)


async def test_what_comes_late_is_carried_when_it_comes(world: World, space: str) -> None:
    pod = build_pod(space, volumes=[{"name": "late", "secret": {"secretName": "late"}}])
    await world.host_pod(await world.nested.create(kinds.POD, pod))
    await world.heard()
    assert await host_data(world, kinds.SECRET, space, "late") is None
    await world.nested.create(kinds.SECRET, secret(space, "late", x="y"))

    async def there() -> bool:
        return await host_data(world, kinds.SECRET, space, "late") is not None

    await world.eventually(there)


async def test_image_pull_secrets_keep_their_type(world: World, space: str) -> None:
    docker = "kubernetes.io/dockerconfigjson"
    await world.nested.create(kinds.SECRET, secret(space, "registry", docker, **{".dockerconfigjson": "{}"}))
    nested = await world.nested.create(kinds.POD, build_pod(space, imagePullSecrets=[{"name": "registry"}]))
    host = await world.host_pod(nested)
    assert host["spec"]["imagePullSecrets"] == [{"name": names.host_name("registry", space)}]
    copy = await world.host.get(kinds.SECRET, names.host_name("registry", space), world.namespace)
    assert copy["type"] == docker


async def test_a_secret_of_another_type_takes_the_place_of_an_earlier_one(world: World, space: str) -> None:
    await world.nested.create(kinds.SECRET, secret(space, "changing", x="y"))
    await world.host_pod(
        await world.nested.create(
            kinds.POD, build_pod(space, volumes=[{"name": "changing", "secret": {"secretName": "changing"}}])
        )
    )
    await world.nested.delete(kinds.SECRET, "changing", space)
    await world.nested.create(kinds.SECRET, secret(space, "changing", "kubernetes.io/basic-auth", username="me"))

    async def replaced() -> bool:
        found = await world.host.find(kinds.SECRET, names.host_name("changing", space), world.namespace)
        return found is not None and found["type"] == "kubernetes.io/basic-auth"

    await world.eventually(replaced)


async def test_a_copy_that_was_changed_on_the_host_is_put_right(world: World, space: str) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    await world.host_pod(
        await world.nested.create(kinds.POD, build_pod(space, volumes=[{"name": "settings", "configMap": {"name": "settings"}}]))
    )
    name = names.host_name("settings", space)
    await world.host.patch(kinds.CONFIG_MAP, name, world.namespace, {"data": {"color": "green"}})

    async def right() -> bool:
        return await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "red"}

    await world.eventually(right)
    await world.host.delete(kinds.CONFIG_MAP, name, world.namespace)
    await world.eventually(right)


async def test_what_is_not_this_cluster_s_is_not_overwritten(world: World, space: str) -> None:
    name = names.host_name("settings", space)
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": world.namespace}}
    await world.host.create(kinds.CONFIG_MAP, foreign | {"data": {"color": "green"}})
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    nested = await world.nested.create(
        kinds.POD, build_pod(space, volumes=[{"name": "settings", "configMap": {"name": "settings"}}])
    )
    refused = await world.nested_pod(nested, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    assert "host ConfigMap 'settings' already exists" in condition(refused, "PodScheduled")["message"]

    async def told() -> list[Object]:
        return await world.nested.list(kinds.EVENT, space, fields="involvedObject.kind=ConfigMap,reason=NotCopied")

    assert "host ConfigMap 'settings' already exists" in (await world.eventually(told))[0]["message"]
    assert await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "green"}
    await world.host.delete(kinds.CONFIG_MAP, name, world.namespace)
    await world.host_pod(nested)
    assert await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "red"}


async def test_pods_that_do_not_run_have_nothing_copied(world: World, space: str) -> None:
    for name in ("refused", "gated", "running"):
        await world.nested.create(kinds.CONFIG_MAP, config_map(space, name, x="y"))

    def naming(name: str, *more: Object, **spec: Any) -> Object:
        return build_pod(space, name, volumes=[{"name": "v", "configMap": {"name": name}}, *more], **spec)

    root = {"name": "root", "hostPath": {"path": "/"}}
    refused = await world.nested.create(kinds.POD, naming("refused", root))
    gated = await world.nested.create(kinds.POD, naming("gated", schedulingGates=[{"name": "example.org/wait"}]))
    await world.nested_pod(refused, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    await world.host_pod(await world.nested.create(kinds.POD, naming("running")))
    assert await host_data(world, kinds.CONFIG_MAP, space, "running") == {"x": "y"}
    await world.heard()
    assert await host_data(world, kinds.CONFIG_MAP, space, "refused") is None
    assert await host_data(world, kinds.CONFIG_MAP, space, "gated") is None
    await world.nested.patch(kinds.POD, "gated", space, {"spec": {"schedulingGates": None}})
    await world.host_pod(gated)
    assert await host_data(world, kinds.CONFIG_MAP, space, "gated") == {"x": "y"}


async def test_a_refused_debug_container_does_not_take_a_running_pod_s_copies(world: World, space: str) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    await start(world, build_pod(space, volumes=[{"name": "settings", "configMap": {"name": "settings"}}]))
    debug = {"name": "debug", "image": "example/debug:1", "securityContext": {"privileged": True}}
    await world.nested.patch(
        kinds.POD, "web", space, {"spec": {"ephemeralContainers": [debug]}}, subresource="ephemeralcontainers", how="strategic"
    )
    await world.nested.patch(kinds.CONFIG_MAP, "settings", space, {"data": {"color": "blue"}})

    async def followed() -> bool:
        return await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "blue"}

    await world.eventually(followed)


async def test_service_links_are_those_of_nested_services(world: World, space: str) -> None:
    service = await world.nested.create(
        kinds.SERVICE,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "my-db", "namespace": space},
            "spec": {"ports": [{"port": 6379}], "selector": {"app": "db"}},
        },
    )
    await world.heard()
    host = await world.host_pod(await world.nested.create(kinds.POD, build_pod(space)))
    links = host["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]
    data = (await world.host.get(kinds.CONFIG_MAP, links, world.namespace))["data"]
    assert data["MY_DB_SERVICE_HOST"] == service["spec"]["clusterIP"]
    assert data["MY_DB_PORT"] == f"tcp://{service['spec']['clusterIP']}:6379"
    api = await world.host.get(kinds.SERVICE, "hello-k3s", world.namespace)
    variables = {item["name"]: item.get("value") for item in host["spec"]["containers"][0]["env"]}
    assert variables["KUBERNETES_SERVICE_HOST"] == api["spec"]["clusterIP"]


async def test_a_name_whose_copy_is_another_s_gets_nothing(world: World, space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for a name that somebody has searched for until its digest was that of another namespace's Secret."""
    real = names.host_name
    monkeypatch.setattr(names, "host_name", lambda name, namespace: real(name.removeprefix("found-"), namespace))
    await world.nested.create(kinds.SECRET, secret(space, "password", word="sesame"))
    _, host = await start(world, build_pod(space, volumes=[volume("password")]))
    thief = build_pod(space, "thief", volumes=[volume("found-password")])
    await world.nested.create(kinds.POD, thief)

    async def told(name: str, reason: str) -> list[str]:
        events = await world.nested.list(kinds.EVENT, space, fields=f"involvedObject.name={name},reason={reason}")
        return [item["message"] for item in events]

    async def refused() -> list[str]:
        return await told("thief", "PodRefused")

    (message,) = await world.eventually(refused)
    assert message.endswith("so that the pod cannot have it: Secret 'found-password'")
    await world.heard()
    assert await world.host.find(kinds.POD, names.host_name("thief", space), world.namespace) is None

    variable = {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "found-password", "key": "word"}}}
    debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox:1.35", "env": [variable]}]}}
    await world.nested.patch(kinds.POD, "web", space, debug, subresource="ephemeralcontainers", how="strategic")

    async def kept() -> list[str]:
        return await told("web", "PodUpdateRefused")

    assert await world.eventually(kept)
    found = await world.host.get(kinds.POD, host["metadata"]["name"], world.namespace)
    assert "ephemeralContainers" not in found["spec"]


async def test_a_pod_that_waits_for_such_a_name_gets_nothing_either(
    world: World, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way round: what it wants is not there yet, so it has a host pod that waits."""
    real = names.host_name
    monkeypatch.setattr(names, "host_name", lambda name, namespace: real(name.removeprefix("found-"), namespace))
    await start(world, build_pod(space, "thief", volumes=[volume("found-password")]))
    await world.nested.create(kinds.SECRET, secret(space, "password", word="sesame"))
    await world.nested.create(kinds.POD, build_pod(space, volumes=[volume("password")]))

    async def told() -> list[str]:
        fields = "involvedObject.kind=Secret,involvedObject.name=password,reason=NotCopied"
        return [item["message"] for item in await world.nested.list(kinds.EVENT, space, fields=fields)]

    (message,) = await world.eventually(told)
    assert message.endswith("delete that pod")
    await world.heard()
    assert await host_data(world, kinds.SECRET, space, "password") is None
    await world.nested.delete(kinds.POD, "thief", space, grace_seconds=0)

    async def copied() -> bool:
        return await host_data(world, kinds.SECRET, space, "password") is not None

    await world.eventually(copied)


def volume(name: str) -> Object:
    """A volume with a Secret that may be missing."""
    return {"name": name, "secret": {"secretName": name, "optional": True}}
