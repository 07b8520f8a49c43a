"""Changes of host pods, as patches of their pods in another cluster."""

from typing import Any

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.kube import Invalid
from nestor.overflow.remote.build import Machines, build_pod
from nestor.overflow.remote.settings import Access, Settings
from nestor.overflow.remote.updates import build_note, build_patches, find_refused
from tests.unit.overflow.remote.conftest import Far
from tests.unit.overflow.remote.conftest import build_pod as build_plain

SETTINGS = Settings(Access({"users": []}), "big", "backend-uid", "far")
DEBUG: Object = {"name": "debug", "image": "example/debug:1", "targetContainerName": "app"}
SMALL: Object = {"requests": {"cpu": "100m"}}
LARGE: Object = {"requests": {"cpu": "200m"}}


def host_pod(*, image: str = "example/web:1", sizes: Object | None = None, **spec: Any) -> Object:
    return build_plain(container={"image": image, "resources": sizes or SMALL}, **spec)


def build_there(**spec: Any) -> Object:
    """The pod there, as it was made for `host_pod`; somebody there has changed an image."""
    built = build_pod(host_pod(**spec), SETTINGS, Machines(), has_links=False, is_gated=False)
    built["metadata"] |= {"uid": "there", "resourceVersion": "5"}
    built["spec"]["containers"][0]["image"] = "mirror.example/web:1"
    return built


def find_changes(pod: Object, there: Object) -> list[tuple[str, Object]]:
    return [(part, patch["spec"]) for part, patch in build_patches(pod, there, SETTINGS) if "spec" in patch]


@pytest.mark.parametrize(
    ("changed", "part", "expected"),
    [
        ({"image": "example/web:2"}, "", {"containers": [{"name": "app", "image": "example/web:2"}]}),
        ({"sizes": LARGE}, "resize", {"containers": [{"name": "app", "resources": LARGE}]}),
        ({"resources": LARGE}, "resize", {"resources": LARGE}),
        ({"activeDeadlineSeconds": 5}, "", {"activeDeadlineSeconds": 5}),
    ],
)
def test_what_differs_is_sent_and_noted(changed: Object, part: str, expected: Object) -> None:
    pod, there = host_pod(**changed), build_there()
    assert find_changes(pod, there) == [(part, expected)]
    there["metadata"]["annotations"] |= build_note(there, {"spec": expected})["metadata"]["annotations"]
    assert find_changes(pod, there) == []
    assert build_note(there, {"spec": expected}) == {}


def test_what_has_no_effect_there_is_not_sent() -> None:
    pod = host_pod(tolerations=[{"operator": "Exists"}])
    pod["metadata"]["annotations"] = {"not": "read there"}
    assert list(build_patches(pod, build_there(), SETTINGS)) == []


@pytest.mark.parametrize("text", [None, "[]", "{", '{"containers": 1, "initContainers": {}}', '{"containers": {"app": 1}}'])
def test_a_pod_there_that_does_not_tell_counts_as_up_to_date(text: str | None) -> None:
    there = build_there()
    there["metadata"]["annotations"] |= {labels.HOST_SPEC: text}
    if text is None:
        del there["metadata"]["annotations"][labels.HOST_SPEC]
    assert find_changes(host_pod(image="example/web:2"), there) == []
    assert build_note(there, {"spec": {"activeDeadlineSeconds": 5}}) == {}


def test_a_label_changes_under_its_name_there() -> None:
    pod = host_pod()
    pod["metadata"]["labels"] = {"color": "red"}
    (only,) = build_patches(pod, build_there(), SETTINGS)
    digests = {key: f"tenant.nestor.dev/{key}-{names.digest(key)}" for key in ("color", "app")}
    changed = {digests["color"]: "red", digests["app"]: None}
    meta = {"labels": changed, "annotations": {labels.HOST_LABELS: '{"color":"red"}'}, "resourceVersion": "5"}
    assert only == ("", {"metadata": meta})


def test_debug_containers_are_translated_and_sent_one_by_one() -> None:
    field = {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    bad = {"name": "bad", "image": "x", "securityContext": {"privileged": True}}
    there = build_there() | {"spec": {"ephemeralContainers": [DEBUG | {"name": "old"}]}}
    wanted = [DEBUG | {"name": name, "env": [field]} for name in ("old", "one", "two")]
    pod = host_pod(ephemeralContainers=[wanted[0], bad, *wanted[1:]])
    found = [patch["ephemeralContainers"] for part, patch in find_changes(pod, there) if part == "ephemeralcontainers"]
    assert [[item["name"] for item in items] for items in found] == [["one"], ["two"]]
    assert labels.NESTED_NAME in found[0][0]["env"][0]["valueFrom"]["fieldRef"]["fieldPath"]
    assert found[0][0]["targetContainerName"] == "app"
    (message,) = find_refused(pod, there)
    assert "privileged" in message


@pytest.mark.parametrize(
    ("refused", "followed"),
    [
        ("", {"image", "size", "label", "debug"}),
        ("pods/resize", {"image", "label", "debug"}),
        ("pods/ephemeralcontainers", {"image", "size", "label"}),
        ("pods", {"size", "debug"}),
    ],
)
async def test_a_change_that_is_refused_holds_up_no_other(far: Far, refused: str, followed: set[str]) -> None:
    provider = far.set_up()
    await provider.create(host_pod())
    far.api.run("host-uid")
    name = far.names("pods")[0]
    path = refused.replace("pods", f"pods far/{name}") if refused else ""
    far.api.fault = lambda verb, what: Invalid(422, "Invalid", "no") if (verb, what) == ("PATCH", path) else None
    pod = host_pod(image="example/web:2", sizes=LARGE, ephemeralContainers=[DEBUG])
    pod["metadata"]["labels"] = {"tier": "front"}
    assert set(await provider.update(pod)) == ({"no"} if refused else set())
    there = far.api.of("host-uid")
    (container,) = there["spec"]["containers"]
    found = {
        "image": container["image"] == "example/web:2",
        "size": container["resources"] == LARGE,
        "label": "front" in there["metadata"]["labels"].values(),
        "debug": [item["name"] for item in there["spec"].get("ephemeralContainers") or []] == ["debug"],
    }
    assert {key for key, is_there in found.items() if is_there} == followed
    far.api.fault = lambda *_: None
    assert await provider.update(pod) == []
    asked = [item for item in far.api.asked if item.startswith("PATCH")]
    assert await provider.update(pod) == []
    assert [item for item in far.api.asked if item.startswith("PATCH")] == asked
