"""ConfigMaps, Secrets and tokens."""

from __future__ import annotations

import pytest

from nestor.api import names
from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.requests.conftest import Object, Stage
from tests.integration.syncer.test_config import config_map, secret
from tests.waiting import until

pytestmark = pytest.mark.slow

SPACE = "config"
DOCKER = "kubernetes.io/dockerconfigjson"


def pod_with_everything() -> Object:
    """Names ConfigMaps and Secrets in every way, and its own fields."""
    token = {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 7200}}
    name = {"path": "name", "fieldRef": {"fieldPath": "metadata.annotations['example.org/note']"}}
    body = build_pod(
        SPACE,
        container={
            "envFrom": [{"secretRef": {"name": "credentials"}}],
            "env": [
                {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "colors", "key": "color"}}},
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                {"name": "SPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            ],
            "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
            "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in ("settings", "typed", "mixed", "info")],
        },
        imagePullSecrets=[{"name": "registry"}],
        volumes=[
            {"name": "settings", "configMap": {"name": "settings", "items": [{"key": "color", "path": "c"}]}},
            {"name": "typed", "secret": {"secretName": "typed", "optional": True}},
            {"name": "mixed", "projected": {"sources": [{"configMap": {"name": "colors"}}, token]}},
            {"name": "info", "downwardAPI": {"items": [name]}},
            {"name": "scratch", "emptyDir": {}},
        ],
    )
    body["metadata"]["annotations"] = {"example.org/note": "mine"}
    return body


async def test_requests(stage: Stage) -> None:
    nested_api = stage.world.nested
    await stage.set_up(
        (kinds.CONFIG_MAP, config_map(SPACE, "settings", color="red", size="1")),
        (kinds.CONFIG_MAP, config_map(SPACE, "colors", color="blue")),
        (kinds.CONFIG_MAP, config_map(SPACE, "unrelated", x="y")),
        (kinds.SECRET, secret(SPACE, "credentials", user="me", word="sesame")),
        (kinds.SECRET, secret(SPACE, "typed", x="y")),
        (kinds.SECRET, secret(SPACE, "registry", DOCKER, **{".dockerconfigjson": "{}"})),
        (kinds.CONFIG_MAP, config_map(SPACE, "taken", color="red")),
    )
    async with stage.step("a pod that names everything is created"):
        nested, host = await stage.create(pod_with_everything())
    async with stage.step("the host binds it"):
        await stage.bind(nested, host)
    async with stage.step("it runs"):
        await stage.report(nested, host)
    async with stage.step("a key of a ConfigMap is added, one is changed, one goes"):
        await nested_api.patch(kinds.CONFIG_MAP, "settings", SPACE, {"data": {"color": "green", "size": None, "new": "z"}})
        await stage.host_is(kinds.CONFIG_MAP, "settings", lambda found: bool(found and "new" in found["data"]))
    async with stage.step("a ConfigMap that no pod names is changed"):
        await nested_api.patch(kinds.CONFIG_MAP, "unrelated", SPACE, {"data": {"x": "z"}})
        await stage.recorder.settle()
    async with stage.step("a key of a Secret is added, one is changed, one goes"):
        change = {"stringData": {"word": "open", "new": "z"}, "data": {"user": None}}
        await nested_api.patch(kinds.SECRET, "credentials", SPACE, change)
        await stage.host_is(kinds.SECRET, "credentials", lambda found: bool(found and "new" in found["data"]))
    async with stage.step("a Secret is deleted"):
        await nested_api.delete(kinds.SECRET, "typed", SPACE)
        await stage.host_is(kinds.SECRET, "typed", lambda found: found is None)
    async with stage.step("and made again with another type"):
        await nested_api.create(kinds.SECRET, secret(SPACE, "typed", "kubernetes.io/basic-auth", username="me"))
        await stage.host_is(kinds.SECRET, "typed", bool)
    await _what_others_do(stage)
    await _renewal(stage, host)
    async with stage.step("the tenant deletes the pod"):
        await stage.delete(nested, host)
    async with stage.step("the pod goes"):
        await stage.end(nested, host, is_last=True)
        for kind, one in ((kinds.CONFIG_MAP, "settings"), (kinds.CONFIG_MAP, "colors"), (kinds.SECRET, "typed")):
            await stage.host_is(kind, one, lambda found: found is None)
        await stage.no_node()
    await _what_is_in_the_way(stage)
    stage.check()


async def _what_others_do(stage: Stage) -> None:
    """Somebody changes and deletes host copies."""
    world, name = stage.world, names.host_name("settings", SPACE)
    async with stage.step("data of a host copy are changed by others"):
        await world.host.patch(kinds.CONFIG_MAP, name, world.namespace, {"data": {"color": "black", "more": "x"}})
        await stage.host_is(kinds.CONFIG_MAP, "settings", lambda found: bool(found and "more" not in found["data"]))
    async with stage.step("a label of a host copy is changed by others"):
        await world.host.patch(kinds.CONFIG_MAP, name, world.namespace, {"metadata": {"labels": {"nestor.dev/job": "other"}}})
        await stage.host_is(
            kinds.CONFIG_MAP, "settings", lambda found: bool(found and found["metadata"]["labels"]["nestor.dev/job"] == "hello")
        )
    async with stage.step("a host copy is deleted by others"):
        await world.host.delete(kinds.CONFIG_MAP, name, world.namespace)
        await stage.host_is(kinds.CONFIG_MAP, "settings", bool)


async def _renewal(stage: Stage, host: Object) -> None:
    """The tokens' time has come."""
    world, tokens = stage.world, host["spec"]["volumes"]
    async with stage.step("its tokens are to be renewed"):
        token = next(
            source["secret"]["name"]
            for volume in tokens
            for source in volume.get("projected", {}).get("sources", [])
            if "-token" in source.get("secret", {}).get("name", "")
        )
        due = {"metadata": {"annotations": {"nestor.dev/renew-after": "2020-01-01T00:00:00Z"}}}
        before = await world.host.patch(kinds.SECRET, token, world.namespace, due)
        await until(lambda: world.host.get(kinds.SECRET, token, world.namespace), lambda found: found["data"] != before["data"])


async def _what_is_in_the_way(stage: Stage) -> None:
    """An object of somebody else has the host name of a copy."""
    world, name = stage.world, names.host_name("taken", SPACE)
    foreign = {"metadata": {"name": name, "namespace": world.namespace}}
    await world.host.create(kinds.CONFIG_MAP, foreign)
    pod = build_pod(
        SPACE, "taken", volumes=[{"name": "taken", "configMap": {"name": "taken"}}], automountServiceAccountToken=False
    )
    async with stage.step("a foreign object is in the way of a copy"):
        nested = await world.nested.create(kinds.POD, pod)
        await until(
            lambda: world.nested.list(kinds.EVENT, SPACE),
            lambda events: {"NotCopied", "PodRefused"} <= {item["reason"] for item in events},
        )
    async with stage.step("it gives way"):
        await world.host.delete(kinds.CONFIG_MAP, name, world.namespace)
        host = await world.host_pod(nested)
    await stage.bind(nested, host)
    async with stage.step("that pod goes too"):
        await stage.remove((nested, host))
        await stage.host_is(kinds.CONFIG_MAP, "taken", lambda found: found is None)
