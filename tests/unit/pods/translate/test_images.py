"""Where a class lists images, the host gets the whole names by which they were judged; otherwise what the user wrote."""

from __future__ import annotations

import dataclasses

import pytest

from nestor.api.policy import Policy
from nestor.pods.translate import pod, update
from tests.unit.pods.translate.builders import BASELINE, TARGET, Object, build_pod

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
    host = pod.build_pod(build_pod(), TARGET, {}, policy)
    host["metadata"]["uid"] = "host-uid"
    changed = build_pod(container={"image": "example/web:2"})
    patch = update.build_update(changed, host, TARGET, policy)
    assert patch is not None
    assert patch["spec"] == {"containers": [{"name": "app", "image": image}]}
    host["metadata"]["annotations"] |= patch["metadata"]["annotations"]
    assert update.build_update(changed, host, TARGET, policy) is None
