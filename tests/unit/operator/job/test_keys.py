"""The keys of a running cluster are renewed whatever else keeps its job from being maintained."""

import base64
import contextlib
import datetime
from collections.abc import Callable
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.cluster import pki
from nestor.cluster.home import build_secret
from nestor.cluster.provision import ForeignObject, Provisioner
from nestor.kube import Forbidden, Invalid, Kind, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import Refused
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import HOME, Scene


def lose_keys(scene: Scene, cluster: str, home: str) -> Callable[[], set[str]]:
    """Take away what expires, and let the operator remember nothing; returns a look at what is there again."""
    where = {f"{cluster}-access": home, f"{cluster}-kubeconfig": "team-a"}
    for name, namespace in where.items():
        scene.api.drop(kinds.SECRET, name, namespace)
    scene.context.provisioner = Provisioner(scene.context.applier)
    return lambda: {name for name, namespace in where.items() if scene.api.look(kinds.SECRET, name, namespace)}


@pytest.mark.parametrize(
    "error",
    [
        Refused(conditions.PULL_SECRET_NOT_FOUND, "no Secret"),
        ForeignObject("Secret 'x' is not ours"),
        Forbidden(403, "Forbidden", "exceeded quota"),
        Invalid(422, "Invalid", "field is immutable"),
        None,
    ],
    ids=lambda error: type(error).__name__ if error else "no class",
)
async def test_a_job_that_is_refused_keeps_its_keys(error: Exception | None, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await Scene.started()
    scene.show_home()
    look = lose_keys(scene, "hello", HOME)

    async def fail(*_: Any) -> None:
        if error:
            raise error

    monkeypatch.setattr(CopiedInputs, "ensure_pull_secret", fail)
    if error is None:
        scene.drop_class()
    with contextlib.suppress(Refused, ForeignObject, Forbidden, Invalid):
        await scene.run()
    assert look() == {"hello-access", "hello-kubeconfig"}


def make_beforehand(scene: Scene) -> Object:
    """Somebody makes the namespace of a job that is refused, as its labels would be, with the syncer's binding, and with keys and
    a server of their own. Returns the namespace.
    """
    own = find_home(scene.job).labels
    content = pki.mint_authorities("evil", datetime.datetime.now(datetime.UTC))
    made = scene.show(kinds.NAMESPACE, {"metadata": {"name": HOME, "labels": own}})
    binding = {"metadata": {"name": "hello-syncer", "namespace": HOME}, "roleRef": {"name": "nestor-syncer"}}
    scene.api.put(kinds.ROLE_BINDING, binding)
    scene.api.put(kinds.SECRET, build_secret({"name": "hello-pki", "namespace": HOME, "labels": own}, content))
    meta = {"name": "hello-k3s", "namespace": HOME, "labels": own}
    scene.api.put(kinds.SERVICE, {"metadata": meta, "spec": {"clusterIP": "10.66.6.6"}})
    return made


@pytest.mark.parametrize("is_proven", [False, True])
async def test_keys_in_a_namespace_that_somebody_made_beforehand_are_nobodys_kubeconfig(is_proven: bool) -> None:
    scene = Scene()
    job = scene.add_job()
    scene.drop_class()
    made = make_beforehand(scene)
    if is_proven:
        scene.change(kinds.NESTED_APP_JOB, job | {"status": {"namespaceUID": made["metadata"]["uid"]}})
    await scene.run()
    assert (scene.api.look(kinds.SECRET, "hello-kubeconfig", "team-a") is not None) is is_proven
    assert (scene.api.look(kinds.SECRET, "hello-access", HOME) is not None) is is_proven


async def test_a_refused_job_without_a_namespace_costs_no_requests_for_keys() -> None:
    scene = Scene()
    scene.add_job()
    scene.drop_class()
    await scene.run()
    assert [line for line in scene.api.asked if " secrets " in line or " services " in line] == []


async def test_keys_are_made_again_with_a_namespace_that_went_while_its_job_was_refused() -> None:
    """The operator has restarted, and knows the cluster only as one that is refused."""
    scene = await Scene.started()
    scene.show_home()
    scene.restart()
    scene.edit(command="no such command")
    await scene.run()
    scene.hide(kinds.NAMESPACE, {"metadata": {"name": HOME}})
    scene.hide(kinds.NESTED_CLUSTER, scene.look(kinds.NESTED_CLUSTER, "hello"))
    for kind, namespace, name in list(scene.api.objects):
        if namespace == HOME or (kind, name) == (kinds.NAMESPACE.plural, HOME):
            del scene.api.objects[kind, namespace, name]
    scene.edit(command="Hello")
    await scene.run()
    assert scene.api.look(kinds.SECRET, "hello-pki", HOME) is not None
    assert scene.api.look(kinds.SECRET, "hello-access", HOME) is not None


def ask_for_rotation(scene: Scene, kind: Kind, name: str) -> None:
    live = scene.api.look(kind, name, "team-a") or {}
    live["metadata"]["annotations"] = {labels.ROTATE: "leaked"}
    scene.change(kind, live)


def told(scene: Scene) -> list[tuple[str, str, str, str]]:
    found = [item for key, item in scene.api.objects.items() if key[0] == "events" and "Rotated" in item["reason"]]
    return [(item["involvedObject"]["kind"], item["involvedObject"]["uid"], item["reason"], item["message"]) for item in found]


def find_kubeconfig(scene: Scene) -> str:
    """What the job's user gets."""
    return str(scene.look(kinds.SECRET, "hello-kubeconfig", "team-a")["data"]["kubeconfig"])


def authority(scene: Scene, cluster: str, home: str) -> bytes:
    secret = scene.api.look(kinds.SECRET, f"{cluster}-pki", home) or {}
    return base64.b64decode(secret["data"]["access-ca.crt"])


async def test_a_rotation_is_told_once_and_by_the_job_that_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await Scene.started()
    before = authority(scene, "hello", HOME)
    assert told(scene) == []
    ask_for_rotation(scene, kinds.NESTED_APP_JOB, "hello")
    old, post = find_kubeconfig(scene), scene.context.events.post

    async def check(*arguments: Any) -> None:
        assert find_kubeconfig(scene) != old, "who reads the event finds the old kubeconfig"
        await post(*arguments)

    monkeypatch.setattr(scene.context.events, "post", check)
    for _ in range(2):
        await scene.run()
    assert authority(scene, "hello", HOME) != before
    ((kind, uid, reason, message),) = told(scene)
    assert (kind, uid, reason) == ("NestedAppJob", "1234", "KeysRotated")
    assert "within about a minute" in message


async def test_a_job_that_is_refused_tells_of_its_rotation_too() -> None:
    scene = await Scene.started()
    scene.show_home()
    scene.drop_class()
    ask_for_rotation(scene, kinds.NESTED_APP_JOB, "hello")
    await scene.run()
    assert [item[2] for item in told(scene)] == ["KeysRotated"]
