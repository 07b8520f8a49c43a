"""ConfigMaps and Secrets follow the pods that name them."""

import base64

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from tests.integration.syncer.pods import build_pod, condition, start
from tests.integration.syncer.world import World
from tests.waiting import until


def config_map(space: str, name: str, **data: str) -> Object:
    """A nested ConfigMap."""
    return {"metadata": {"name": name, "namespace": space}, "data": data}


def secret(space: str, name: str, kind: str = "Opaque", **data: str) -> Object:
    """A nested Secret."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": name, "namespace": space}, "type": kind, "data": encoded}


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
    await until(lambda: host_data(world, kinds.CONFIG_MAP, space, "settings"), lambda found: found == {"color": "blue"})
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


async def test_what_comes_late_is_carried_when_it_comes(world: World, space: str) -> None:
    pod = build_pod(space, volumes=[{"name": "late", "secret": {"secretName": "late"}}])
    await world.host_pod(await world.nested.create(kinds.POD, pod))
    await world.heard()
    assert await host_data(world, kinds.SECRET, space, "late") is None
    await world.nested.create(kinds.SECRET, secret(space, "late", x="y"))
    await until(lambda: host_data(world, kinds.SECRET, space, "late"), lambda found: found is not None)


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
    await until(
        lambda: world.host.find(kinds.SECRET, names.host_name("changing", space), world.namespace),
        lambda found: found is not None and found["type"] == "kubernetes.io/basic-auth",
    )


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


async def test_a_restart_in_which_nothing_has_changed_writes_nothing(world: World, space: str) -> None:
    """Neither here nor there, whatever the API servers fill in by themselves."""

    async def look() -> set[str]:
        found = [*await world.nested.list(kinds.POD, space), *await world.nested.list(kinds.NODE)]
        for kind in (kinds.POD, kinds.CONFIG_MAP, kinds.SECRET, kinds.SERVICE):
            found += await world.host.list(kind, world.namespace, labels=f"{labels.NESTED_NAMESPACE}={space}")
        return {f"{item['metadata']['name']} {item['metadata']['resourceVersion']}" for item in found}

    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    await world.nested.create(kinds.SECRET, secret(space, "typed", "kubernetes.io/basic-auth", username="me"))
    await world.nested.create(kinds.SERVICE, {"metadata": {"name": "web", "namespace": space}, "spec": {"ports": [{"port": 80}]}})
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "typed", "secret": {"secretName": "typed"}}]
    await start(world, build_pod(space, volumes=volumes))
    await world.heard()
    before = await look()
    assert len(before) >= 7  # the nested pod and its node; of the host, the pod, its token and the three that were created
    await world.stop()
    await world.start()
    await world.heard()
    assert await look() == before


async def test_what_is_not_this_cluster_s_is_not_overwritten(world: World, space: str) -> None:
    name = names.host_name("settings", space)
    foreign = {"metadata": {"name": name, "namespace": world.namespace}}
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


async def test_service_links_are_those_of_nested_services(world: World, space: str) -> None:
    service = await world.nested.create(
        kinds.SERVICE,
        {"metadata": {"name": "my-db", "namespace": space}, "spec": {"ports": [{"port": 6379}], "selector": {"app": "db"}}},
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
