"""Changes of a nested pod become a patch of its host pod, once."""

import dataclasses

import pytest

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate import labels, pod, update
from nestor.pods.translate.target import Target
from tests.unit.pods.translate.builders import BASELINE, TARGET, build_pod


def carried(nested: Object, target: Target = TARGET, policy: Policy = BASELINE) -> Object:
    """The host pod as it was created for this nested pod."""
    host = pod.build_pod(nested, target, {}, policy)
    host["metadata"]["uid"] = "host-uid"
    return host


def change(nested: Object, host: Object, policy: Policy = BASELINE) -> Object:
    """The patch that there is."""
    patch = update.build_update(nested, host, TARGET, policy)
    assert patch is not None
    return patch


def allowing(*keys: str) -> Target:
    return dataclasses.replace(TARGET, allowed_labels=keys)


def apply(host: Object, patch: Object | None) -> Object:
    assert patch is not None
    meta = host["metadata"]
    for part in ("labels", "annotations"):
        there = meta[part] | patch["metadata"][part]
        meta = meta | {part: {key: value for key, value in there.items() if value is not None}}
    return host | {"metadata": meta}


@pytest.mark.parametrize(("before", "after"), [(("app",), ()), ((), ("app",))])
def test_when_other_labels_are_allowed_a_running_pod_has_both_spellings(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Its Services find it all the time."""
    nested = build_pod(labels={"app": "web"})
    old, new = (labels.host_labels({"app": "web"}, allowed) for allowed in (before, after))
    host = carried(nested, allowing(*before))
    assert old.items() <= host["metadata"]["labels"].items()
    host = apply(host, update.build_update(nested, host, allowing(*after), BASELINE))
    assert (old | new).items() <= host["metadata"]["labels"].items()
    assert update.build_update(nested, host, allowing(*after), BASELINE) is None
    nested["metadata"]["labels"] = {"app": "db"}
    host = apply(host, update.build_update(nested, host, allowing(*after), BASELINE))
    found = host["metadata"]["labels"]
    assert labels.host_labels({"app": "db"}, after).items() <= found.items()
    assert not old.keys() & found.keys()
    assert update.build_update(nested, host, allowing(*after), BASELINE) is None


def test_a_renamed_label_is_taken_away_by_its_host_name() -> None:
    host = carried(build_pod(labels={"batch.kubernetes.io/job-name": "x"}))
    gone = [key for key, value in change(build_pod(), host)["metadata"]["labels"].items() if value is None]
    assert gone
    assert gone == [key for key in host["metadata"]["labels"] if key.startswith("tenant.nestor.dev/")]


def test_images_deadline_and_tolerations() -> None:
    host = carried(build_pod(initContainers=[{"name": "i", "image": "i:1"}]))
    there = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}
    host["spec"]["tolerations"] = [there]
    added = {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}
    nested = build_pod(
        container={"image": "example/web:2"},
        initContainers=[{"name": "i", "image": "i:2"}],
        activeDeadlineSeconds=60,
        tolerations=[added, {"operator": "Exists"}],
    )
    patch = change(nested, host)
    assert patch["metadata"]["uid"] == "host-uid"
    assert patch["spec"] == {
        "containers": [{"name": "app", "image": "example/web:2"}],
        "initContainers": [{"name": "i", "image": "i:2"}],
        "activeDeadlineSeconds": 60,
        "tolerations": [there, added],
    }


def test_labels_that_the_pod_reads_are_refreshed() -> None:
    item = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    volume = {"name": "info", "downwardAPI": {"items": [item]}}
    host = carried(build_pod(labels={"a": "1"}, volumes=[volume]))
    patch = change(build_pod(labels={"a": "2"}, volumes=[volume]), host)
    assert patch["metadata"]["annotations"]["downward.nestor.dev/labels"] == 'a="2"'


def test_debug_containers_are_added_once() -> None:
    nested = build_pod(ephemeralContainers=[{"name": "debug", "image": "busybox", "targetContainerName": "app", "tty": True}])
    host = carried(build_pod())
    patch = update.build_debug(nested, host, TARGET, BASELINE)
    assert patch is not None
    (debug,) = patch["spec"]["ephemeralContainers"]
    assert (debug["name"], debug["targetContainerName"], debug["tty"]) == ("debug", "app", True)
    refused = {"name": "bad", "image": "busybox", "securityContext": {"privileged": True}}
    nested["spec"]["ephemeralContainers"].insert(0, refused)
    assert update.build_debug(nested, host, TARGET, BASELINE) == patch
    host["spec"]["ephemeralContainers"] = [debug]
    assert update.build_debug(nested, host, TARGET, BASELINE) is None


def test_the_generation_is_noted_apart_from_the_change_and_once() -> None:
    before, nested = build_pod(), build_pod(container={"image": "example/web:2"})
    before["metadata"]["generation"], nested["metadata"]["generation"] = 1, 2
    host = carried(before)
    assert host["metadata"]["annotations"]["nestor.dev/nested-generation"] == "1"
    patch = change(nested, host)
    assert "nestor.dev/nested-generation" not in patch["metadata"]["annotations"]  # a resize may still be to come
    assert update.build_mark(before, host) is None
    assert update.build_mark(nested, host) == {"metadata": {"annotations": {"nestor.dev/nested-generation": "2"}}}
    nested["metadata"]["deletionTimestamp"] = "t"
    assert update.build_mark(nested, host) is None
    assert update.build_mark(build_pod(), host) is None  # its server counts none


def test_only_images_that_the_tenant_changed_are_carried() -> None:
    first = [{"name": "i", "image": "i:1"}, {"name": "j", "image": "j:1"}]
    host = carried(build_pod(initContainers=first))
    for group in ("initContainers", "containers"):
        for item in host["spec"][group]:
            item["image"] = f"mirror.example/{item['image']}"
    assert change(build_pod(labels={"a": "b"}, initContainers=first), host)["spec"] == {}
    second = [first[0], {"name": "j", "image": "j:2"}]
    patch = change(build_pod(initContainers=second), host)
    assert patch["spec"] == {"initContainers": [{"name": "j", "image": "j:2"}]}
    host["metadata"]["annotations"] |= patch["metadata"]["annotations"]
    assert change(build_pod(initContainers=first), host)["spec"] == {"initContainers": [{"name": "j", "image": "j:1"}]}


def test_an_image_that_is_not_allowed_is_carried_once_it_is() -> None:
    first = [{"name": "i", "image": "i:1"}]
    host = carried(build_pod(initContainers=first))
    second = build_pod(initContainers=[{"name": "i", "image": "i:2"}], container={"image": "ghcr.io/web:2"})
    listed = dataclasses.replace(BASELINE, allowed_images=["ghcr.io"])
    patch = change(second, host, listed)
    assert patch["spec"] == {"containers": [{"name": "app", "image": "ghcr.io/web:2"}]}
    host["metadata"]["annotations"] |= patch["metadata"]["annotations"]
    assert update.build_update(second, host, TARGET, listed) is None
    assert change(second, host)["spec"] == {"initContainers": [{"name": "i", "image": "i:2"}]}


def test_sidecars_and_whole_pods_are_resized_too() -> None:
    def build(cpu: str) -> Object:
        resources = {"requests": {"cpu": cpu}}
        sidecar = {"name": "proxy", "image": "p:1", "restartPolicy": "Always", "resources": resources}
        first = {"name": "first", "image": "f:1", "resources": {"requests": {"cpu": "1"}}}
        return build_pod(initContainers=[first, sidecar], resources=resources)

    host = carried(build("100m"))
    host["spec"]["initContainers"][0]["resources"] = {
        "requests": {"cpu": "2"}
    }  # the host's own; it has ended, or will not change
    assert update.build_resize(build("100m"), host) is None
    assert update.build_resize(build("200m"), host) == {
        "spec": {
            "initContainers": [{"name": "proxy", "resources": {"requests": {"cpu": "200m"}}}],
            "resources": {"requests": {"cpu": "200m"}},
        }
    }


LISTED = dataclasses.replace(BASELINE, allowed_images=["docker.io"])
VOLUME: Object = {"name": "data", "image": {"reference": "data:1"}}
INIT: Object = {"name": "first", "image": "first"}
DEBUG: Object = {"name": "debug", "image": "busybox"}


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        (LISTED, ["docker.io/example/web:1", "docker.io/library/first", "docker.io/library/data:1", "docker.io/library/busybox"]),
        (BASELINE, ["example/web:1", "first", "data:1", "busybox"]),
    ],
)
def test_all_that_names_an_image_names_it_whole_where_there_is_a_list(policy: Policy, found: list[str]) -> None:
    nested = build_pod(initContainers=[INIT], volumes=[VOLUME])
    host = pod.build_pod(nested, TARGET, {}, policy)
    patch = update.build_debug(nested | {"spec": nested["spec"] | {"ephemeralContainers": [DEBUG]}}, host, TARGET, policy)
    assert patch is not None
    spec = host["spec"]
    assert [
        spec["containers"][0]["image"],
        spec["initContainers"][0]["image"],
        spec["volumes"][0]["image"]["reference"],
        patch["spec"]["ephemeralContainers"][0]["image"],
    ] == found
    assert nested["spec"]["containers"][0]["image"] == "example/web:1"


@pytest.mark.parametrize(("policy", "image"), [(LISTED, "docker.io/example/web:2"), (BASELINE, "example/web:2")])
def test_another_image_of_a_pod_that_runs_is_carried_by_its_whole_name(policy: Policy, image: str) -> None:
    host = carried(build_pod(), policy=policy)
    changed = build_pod(container={"image": "example/web:2"})
    patch = change(changed, host, policy)
    assert patch["spec"] == {"containers": [{"name": "app", "image": image}]}
    host["metadata"]["annotations"] |= patch["metadata"]["annotations"]
    assert update.build_update(changed, host, TARGET, policy) is None
