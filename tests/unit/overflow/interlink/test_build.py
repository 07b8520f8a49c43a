"""What a pod and its inputs become on the wire."""

import copy
import json
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.overflow.interlink.build import build_create, build_delete, build_plugin_create, build_question, find_refusals
from nestor.overflow.interlink.env import expand
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotYet
from tests.unit.overflow.interlink.full_pod import build_full_pod


def send(spec: Object, inputs: Inputs | None = None, **pod: Any) -> Object:
    """The message about a pod with this `spec`; `pod` are other parts of it."""
    meta = {"name": "a", "namespace": "b", "uid": "c"} | pod.pop("metadata", {})
    return build_create({"metadata": meta, "spec": spec, **pod}, inputs or Inputs())


def test_environment_is_resolved_and_expanded() -> None:
    container = build_create(*build_full_pod())["pod"]["spec"]["containers"][0]
    assert {item["name"]: item["value"] for item in container["env"]} == {
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "SETTINGS_mode": "fast",
        "SETTINGS_size": "9",
        "MODE": "fast",
        "PASSWORD": "pass",
        "POD": "web-1",
        "MEMORY": "1024",
        "URL": "http://10.0.0.1/fast",
    }
    assert "envFrom" not in container
    assert container["command"] == ["run", "--mode=fast", "$(UNKNOWN)", "$(MODE)"]
    assert container["volumeMounts"][0] == {"name": "scratch", "mountPath": "/scratch", "subPath": "web-1/fast"}


def test_volumes_come_with_their_content() -> None:
    request = build_create(*build_full_pod())
    volumes = {item["name"]: item for item in request["pod"]["spec"]["volumes"]}
    assert volumes["perhaps"] == {"name": "perhaps", "emptyDir": {}}
    assert volumes["labels"].keys() == {"name", "projected"}
    assert [item["metadata"] for item in request["configmaps"]] == [{"name": "settings", "namespace": "shop"}]
    keys, registry = request["secrets"]
    assert (keys["data"], registry["metadata"]["name"]) == ({"id_rsa": "S0VZ"}, "registry")
    assert volumes["keys"]["secret"] == {"secretName": keys["metadata"]["name"]}
    files = {item["metadata"]["name"]: item for item in request["projectedvolumesmaps"]}
    assert files["labels"]["data"] == {"labels": 'app="web"\ntier="a \\"b\\""'}
    assert files["access"]["data"] == {"token": "jwt", "ca.crt": "PEM", "namespace": "shop"}
    assert files["access"]["binaryData"] == {"raw": "/w=="}


def test_a_file_that_is_mounted_by_itself_has_a_volume_of_its_own() -> None:
    """Slurm's plugin mounts all files of a volume at each `subPath`, one after the other."""
    mounts = [{"name": "v", "mountPath": f"/{path}", "subPath": path} for path in ("a", "b", "./a")]
    mounts += [{"name": "v", "mountPath": "/all"}, {"name": "scratch", "mountPath": "/s", "subPath": "deep/er"}]
    volumes = [{"name": "v", "configMap": {"name": "c"}}, {"name": "scratch", "emptyDir": {}}]
    spec = {"containers": [{"name": "x", "image": "x", "volumeMounts": mounts}], "volumes": volumes}
    sent = send(spec, Inputs(config_maps={"c": {"metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}}}))
    files = {item["metadata"]["name"]: item["data"] for item in sent["configmaps"]}
    names = [item["name"] for item in sent["pod"]["spec"]["containers"][0]["volumeMounts"]]
    made = {item["name"]: item.get("configMap", {}).get("name") for item in sent["pod"]["spec"]["volumes"]}
    assert [files.get(made[name]) for name in names] == [{"a": "1"}, {"b": "2"}, {"a": "1"}, {"a": "1", "b": "2"}, None]
    assert names[3:] == ["v", "scratch"]
    assert made.keys() == set(names)


@pytest.mark.parametrize(
    ("pod", "containers", "expected"),
    [
        (None, [{"runAsUser": 5, "runAsGroup": 6}, {"runAsUser": 5}], {"runAsUser": 5}),
        ({"runAsUser": 5}, [{}, None], {"runAsUser": 5}),
        ({"runAsUser": 5, "fsGroup": 7}, [{"runAsUser": 9}], {"runAsUser": 9, "fsGroup": 7}),
        (None, [{"runAsUser": 5}, {"runAsUser": 6}], None),
    ],
)
def test_the_user_of_all_containers_is_the_pods(
    pod: Object | None, containers: list[Object | None], expected: Object | None
) -> None:
    made = [{"name": str(index), "image": "x", "securityContext": context} for index, context in enumerate(containers)]
    assert send({"containers": made, "securityContext": pod})["pod"]["spec"].get("securityContext") == expected


def test_what_a_container_asks_for_is_its_limit_where_it_has_none() -> None:
    resources = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    sent = send({"containers": [{"name": "x", "image": "x", "resources": resources}]})
    assert sent["pod"]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2", "memory": "2Gi"}


def test_only_what_a_backend_needs_of_the_metadata_is_sent() -> None:
    meta = build_create(*build_full_pod())["pod"]["metadata"]
    assert meta.keys() == {"name", "namespace", "uid", "creationTimestamp", "labels", "annotations"}
    assert meta["annotations"] == {"note": "kept"}


def test_the_pod_itself_is_not_changed() -> None:
    pod, inputs = build_full_pod()
    before = copy.deepcopy(pod)
    build_create(pod, inputs)
    assert pod == before


def test_a_plugin_gets_the_objects_of_each_container_that_mounts_them() -> None:
    init, app = build_plugin_create(build_create(*build_full_pod()))["container"]
    empty: Object = {key: [] for key in ("configMaps", "secrets", "projectedvolumemaps", "emptyDirs")}
    assert init == {"name": "prepare"} | empty
    assert [item["metadata"]["name"] for item in app["configMaps"]] == ["settings"]
    assert [item["data"] for item in app["secrets"]] == [{"id_rsa": "S0VZ"}]
    assert [item["metadata"]["name"] for item in app["projectedvolumemaps"]] == ["labels", "access"]
    assert app["emptyDirs"] == ["scratch", "perhaps"]


def test_a_question_is_small_and_says_that_the_pod_is_not_over() -> None:
    pod, _ = build_full_pod()
    pod["metadata"]["annotations"] |= {"large": "x" * 5000, "JobID": "7"}
    pod["status"] = {"phase": "Succeeded"}
    question = build_question(pod)
    assert question["metadata"]["annotations"] == {"note": "kept", "JobID": "7"}
    assert question["spec"]["containers"] == [{"name": "app", "image": "registry.example/app:1"}]
    assert question["spec"].keys() == {"initContainers", "containers", "nodeName", "restartPolicy"}
    assert question["status"] == {"phase": "Pending"}


def test_a_question_is_small_whatever_the_pod_has() -> None:
    pod, _ = build_full_pod()
    pod["metadata"]["annotations"] = {f"a{number}": "x" * 1000 for number in range(200)} | {"JobID": "7" * 500}
    pod["metadata"]["labels"] = {f"a{number}": "x" * 63 for number in range(2000)}
    pod["spec"]["containers"] = [{"name": f"c{number}", "image": "x" * 5000} for number in range(50)]
    question = build_question(pod)
    assert len(json.dumps(question)) < 8000
    assert question["metadata"]["annotations"]["JobID"] == "7" * 500
    assert [item["name"] for item in question["spec"]["containers"]] == [f"c{number}" for number in range(50)]


@pytest.mark.parametrize(("grace", "expected"), [(None, 30), (5, 5), (0, 0), (2**40, 10**9)])
def test_a_deletion_has_its_grace_period(grace: int | None, expected: int) -> None:
    pod, _ = build_full_pod()
    body = build_delete(pod, grace, "2026-01-01T00:00:00Z")
    assert body["metadata"]["deletionGracePeriodSeconds"] == expected
    assert body["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("$(A)$(B)", "1$(B)"),
        ("$$(A)", "$(A)"),
        ("$$", "$"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("100$", "100$"),
        ("$()", "$()"),
    ],
)
def test_references_are_expanded_as_by_a_kubelet(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


def _env(source: Object) -> Object:
    return {"containers": [{"name": "app", "image": "x", "env": [{"name": "A", "valueFrom": source}]}]}


def _volume(**volume: Any) -> Object:
    return {"containers": [{"name": "app", "image": "x"}], "volumes": [{"name": "v", **volume}]}


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        (_env({"configMapKeyRef": {"name": "no", "key": "a"}}), NotYet, "ConfigMap 'no' does not exist"),
        (_env({"secretKeyRef": {"name": "keys", "key": "no"}}), NotYet, "Secret 'keys' has no key 'no'"),
        (_env({"secretKeyRef": {"name": "broken", "key": "a"}}), InvalidInput, "Secret 'broken' must have base64 data"),
        (_env({"fieldRef": {"fieldPath": "status.podIP"}}), InvalidInput, "`spec.containers[0].env[0].valueFrom.fieldRef`"),
        (_env({"resourceFieldRef": {"resource": "limits.cpu"}}), InvalidInput, "needs `resources.limits.cpu`"),
        (_volume(secret={"secretName": "no"}), NotYet, "Secret 'no' does not exist"),
        (_volume(secret={"secretName": "keys", "items": [{"key": "no", "path": "a"}]}), NotYet, "has no key 'no'"),
        (_volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}), NotYet, "no service account token yet"),
        (
            _volume(projected={"sources": [{"secret": {"name": "keys", "items": [{"key": "id", "path": "a/b"}]}}]}),
            InvalidInput,
            "(volume 'v') may not have the file 'a/b'",
        ),
    ],
)
def test_what_is_missing_or_unknown_is_named(spec: Object, error: type[Exception], words: str) -> None:
    secrets = {
        "keys": {"metadata": {"name": "keys"}, "data": {"id": "S0VZ"}},
        "broken": {"metadata": {"name": "broken"}, "data": {"a": "%%%"}},
    }
    with pytest.raises(error) as caught:
        send(spec, Inputs(secrets=secrets))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.uid", "c"),
        ("metadata.labels['a/b']", "1"),
        ("metadata.annotations['no']", ""),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "default"),
        ("status.hostIP", "10.0.0.5"),
        ("status.hostIPs", "10.0.0.5,fd00::5"),
    ],
)
def test_fields_of_the_pod_are_known(path: str, expected: str) -> None:
    spec = _env({"fieldRef": {"fieldPath": path}}) | {"nodeName": "n", "serviceAccountName": "default"}
    status = {"hostIP": "10.0.0.5", "hostIPs": [{"ip": "10.0.0.5"}, {"ip": "fd00::5"}]}
    request = send(spec, metadata={"labels": {"a/b": "1"}}, status=status)
    assert request["pod"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": expected}]


def test_what_interlink_can_carry_is_not_refused() -> None:
    pod, _ = build_full_pod()
    assert find_refusals(pod) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hostNetwork": True}, "`spec.hostNetwork` may not be true"),
        ({"hostPID": True}, "`spec.hostPID` may not be true"),
        ({"hostIPC": True}, "`spec.hostIPC` may not be true"),
        ({"resourceClaims": [{"name": "gpu"}]}, "`spec.resourceClaims` may not be set"),
        (_volume(persistentVolumeClaim={}), "`spec.volumes[0].persistentVolumeClaim` (volume 'v') may not"),
        (_volume(hostPath={"path": "/"}), "`spec.volumes[0].hostPath` (volume 'v') may not"),
        (
            _volume(projected={"sources": [{"clusterTrustBundle": {}}]}),
            "`spec.volumes[0].projected.sources[0].clusterTrustBundle` (volume 'v') may not",
        ),
        ({"initContainers": [{"name": "a", "volumeDevices": [{}]}]}, "`spec.initContainers[0].volumeDevices` may not be set"),
        ({"containers": [{"name": "a", "resources": {"claims": [{}]}}]}, "`spec.containers[0].resources.claims` may not be set"),
        (
            {"containers": [{"name": "a", "volumeMounts": [{"mountPropagation": "Bidirectional"}]}]},
            "`spec.containers[0].volumeMounts[0].mountPropagation` must be 'None'",
        ),
        (
            {"initContainers": [{"name": "a", "restartPolicy": "Always"}]},
            "`spec.initContainers[0].restartPolicy` may not be 'Always'",
        ),
        (_env({"fileKeyRef": {}}), "`spec.containers[0].env[0].valueFrom.fileKeyRef` may not be set"),
    ],
)
def test_what_interlink_cannot_carry_is_named(change: Object, words: str) -> None:
    (found,) = find_refusals({"spec": {"containers": []} | change})
    assert found.startswith(words)
