"""With which credentials nodes pull Nestor's own images in jobs' namespaces, and that these give access to nothing else."""

import base64
import json
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.cluster.pulls import MISSING_SECONDS, OwnPulls, narrow, read_auths
from nestor.kube import Api, kinds
from tests.fakes.api import MemoryApi

OWN = "registry.test/team/nestor"
IMAGES = (f"{OWN}:0.2.0", f"{OWN}:0.2.0@sha256:12ab", "rancher/k3s:v1.36.3-k3s1", "localhost:5000/coredns")
META: Object = {"name": "pull", "namespace": "home"}


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["registry.test"], [OWN]),
        (["https://registry.test/v2/"], [OWN]),
        (["registry.test/team"], [OWN]),
        (["registry.test/v1/team/"], [OWN]),
        ([OWN], [OWN]),
        (["*.test"], [OWN]),
        (["registry.test/other", "registry.test:5000", "evil.registry.test"], []),
        (["https://index.docker.io/v1/"], ["docker.io/rancher/k3s"]),
        (["docker.io/rancher"], ["docker.io/rancher/k3s"]),
        (["localhost:5000"], ["localhost:5000/coredns"]),
        (["localhost"], []),
    ],
)
def test_what_is_for_a_registry_becomes_what_is_for_an_image(places: list[str], expected: list[str]) -> None:
    assert narrow([{place: {"auth": "x"} for place in places}], IMAGES) == {image: {"auth": "x"} for image in expected}


def test_the_longest_path_wins_and_then_the_last_secret() -> None:
    found = [{"registry.test": {"auth": "a"}, "registry.test/team": {"auth": "b"}}, {"registry.test/team": {"auth": "c"}}]
    assert narrow(found, IMAGES) == {OWN: {"auth": "c"}}


def secret(content: Any, key: str = ".dockerconfigjson") -> Object:
    return {"data": {key: base64.b64encode(json.dumps(content).encode()).decode()}}


@pytest.mark.parametrize(
    "found", [None, {}, {"data": None}, secret({"auths": {}}, "other"), secret({}), secret([]), secret({"auths": 1})]
)
def test_what_is_no_pull_secret_has_no_credentials(found: Object | None) -> None:
    assert read_auths(found) == {}


async def test_it_is_read_seldom_and_soon_again_while_one_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    monkeypatch.setattr("nestor.cluster.pulls.time.monotonic", lambda: now)
    api = MemoryApi()
    made = OwnPulls(cast(Api, api), "system", ["house", "other"], IMAGES)
    assert await made.build(META) is None
    assert "namespace system: house, other" in caplog.text
    for name in ("house", "other"):
        body = secret({"auths": {f"{name if name == 'other' else 'registry'}.test": {"auth": name}}})
        api.put(kinds.SECRET, {"metadata": {"name": name, "namespace": "system"}, **body})
    assert await made.build(META) is None, "not yet"
    now += MISSING_SECONDS
    found = await made.build(META)
    assert found is not None
    assert (found["metadata"], found["type"]) == (META, "kubernetes.io/dockerconfigjson")
    assert read_auths(found) == {OWN: {"auth": "house"}}
    api.objects.clear()
    now += MISSING_SECONDS
    assert await made.build(META) == found
