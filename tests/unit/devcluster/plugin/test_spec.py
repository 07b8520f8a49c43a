"""From a pod to what its containers are started with."""

from pathlib import Path

import pytest

from devcluster.plugin import refusals, spec
from devcluster.plugin.ctr import Ctr, Image
from devcluster.plugin.refusals import Refused
from devcluster.plugin.spec import ContainerSpec, Folders
from nestor.api.objects import Object
from tests.unit.devcluster.plugin.pods import IMAGE, container, pod

FOLDERS = Folders(Path("/pods/uid-1"))
CTR = Ctr(Path("/bin/ctr"), Path("/c.sock"), Path("/certs.d"), Path("/bin/runc"))


def build(given: Object, **env: str) -> ContainerSpec:
    """The first container's."""
    return spec.build(given, given["spec"]["containers"][0], FOLDERS, env)


def start_words(given: ContainerSpec, *entrypoint: str) -> list[str]:
    """What stands behind the image and the id."""
    arguments = CTR.start_arguments("id-1", given, Image("image", entrypoint), [])
    return arguments[arguments.index("id-1") + 1 :]


REFUSED: list[tuple[Object, str]] = [
    (pod(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}]), "volume 'data' is a persistentVolumeClaim"),
    (pod(volumes=[{"name": "host", "hostPath": {"path": "/"}}]), "volume 'host' is a hostPath"),
    (pod(hostNetwork=True), "hostNetwork cannot be had"),
    (pod(containers=[]), "spec.containers is missing"),
    (pod(initContainers=[{"name": "side", "image": IMAGE, "restartPolicy": "Always"}]), "'side' is to run beside the others"),
    (container(env=[{"name": "A", "valueFrom": {"fieldRef": {}}}]), "env 'A' of container 'main' is not resolved"),
    (container(envFrom=[{"configMapRef": {"name": "x"}}]), "envFrom of container 'main' is not resolved"),
    (container(securityContext={"privileged": True}), "'main' is privileged"),
    (container(lifecycle={"preStop": {}}), "lifecycle of container 'main' cannot be had"),
    ({"metadata": {"name": "one", "namespace": "team"}, "spec": {}}, "metadata.uid is missing"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_cannot_be_had_is_refused_by_name(given: Object, words: str) -> None:
    with pytest.raises(Refused, match=words):
        refusals.check(given)


WORDS = [
    ({}, []),
    ({"command": ["a"]}, ["a"]),
    ({"command": ["a"], "args": ["b"]}, ["a", "b"]),
    ({"args": ["b"]}, ["/entry", "b"]),
    ({"command": ["sh", "-c", "echo $(NAME) $$(NAME) $(OTHER)"]}, ["sh", "-c", "echo $(NAME) $$(NAME) $(OTHER)"]),
]


@pytest.mark.parametrize(("fields", "words"), WORDS)
def test_command_and_args_as_kubernetes_has_them(fields: Object, words: list[str]) -> None:
    built = build(container(env=[{"name": "NAME", "value": "one"}], **fields))
    assert start_words(built, "/entry") == words


def test_nothing_is_resolved_a_second_time() -> None:
    """A `$$(A)` of the pod is a `$(A)` by now, and means just that."""
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C", "value": ""}, {"name": "D"}]
    assert build(container(env=env), GIVEN="x").env == {"GIVEN": "x", "A": "1", "B": "$(A)$(C)", "C": "", "D": ""}


def test_resources_become_limits() -> None:
    resources = {"requests": {"cpu": "250m", "memory": "8Mi"}, "limits": {"cpu": "1500m", "memory": "64Mi"}}
    built = build(container(resources=resources))
    assert (built.memory, built.cpus, built.shares) == (64 * 1024**2, 1.5, 256)
    arguments = CTR.start_arguments("id-1", built, Image("image"), [])
    assert arguments[arguments.index("--memory-limit") + 1] == str(64 * 1024**2)
    assert arguments[arguments.index("--cpus") + 1] == "1.5"


@pytest.mark.parametrize("path", ["../other", "/etc", "a/../../b"])
def test_no_path_leads_out_of_a_volume(path: str) -> None:
    given = container(volumeMounts=[{"name": "scratch", "mountPath": "/scratch", "subPath": path}])
    given["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    with pytest.raises(Refused, match="leads out of its volume"):
        build(given)
