"""Volumes, from hop 1 to files on the machine."""

from __future__ import annotations

import base64

import pytest

from devcluster.plugin import grouping, volumes
from devcluster.plugin.refusals import Refused
from devcluster.plugin.volumes import File
from nestor.api.objects import Object
from tests.unit.devcluster.plugin.pods import IMAGE, pod


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CONFIG = {"metadata": {"name": "settings"}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": encoded("3")}}
SECRET = {"metadata": {"name": "login"}, "data": {"password": encoded("secret")}, "stringData": {"user": "me"}}
TOKENS = {"metadata": {"name": "tokens"}, "data": {"token": "t", "ca.crt": "c"}}
VOLUMES: list[Object] = [
    {"name": "config", "configMap": {"name": "settings"}},
    {"name": "login", "secret": {"secretName": "login", "defaultMode": 0o400}},
    {"name": "tokens", "projected": {"sources": []}},
    {"name": "scratch", "emptyDir": {}},
]
MOUNTS = [{"name": item["name"], "mountPath": f"/{item['name']}"} for item in VOLUMES]
ASKED: Object = {
    "pod": pod(
        volumes=VOLUMES,
        initContainers=[{"name": "before", "image": IMAGE, "volumeMounts": MOUNTS[:1]}],
        containers=[{"name": "main", "image": IMAGE, "volumeMounts": MOUNTS[1:]}, {"name": "other", "image": IMAGE}],
    ),
    "configmaps": [CONFIG],
    "secrets": [SECRET],
    "projectedvolumesmaps": [TOKENS],
}
DATA = volumes.collect(grouping.group(ASKED))


def test_chosen_keys_get_their_paths_and_modes() -> None:
    items = [{"key": "a", "path": "deep/one", "mode": 0o755}, {"key": "b", "path": "two"}]
    volume = {"name": "config", "configMap": {"name": "settings", "items": items}}
    assert volumes.files(volume, DATA) == {"deep/one": File(b"1", 0o755), "two": File(b"2")}


MISSING: list[tuple[Object, str]] = [
    ({"configMap": {"name": "gone"}}, "the data of volume 'v', configMap 'gone', was not sent"),
    ({"secret": {"secretName": "gone"}}, "the data of volume 'v', secret 'gone', was not sent"),
    ({"projected": {}}, "the data of volume 'v', projected 'v', was not sent"),
    ({"configMap": {"name": "settings", "items": [{"key": "z", "path": "z"}]}}, "names the key 'z', which was not sent"),
    ({"configMap": {"name": "settings", "items": [{"key": "a", "path": "../z"}]}}, "leads out of its volume"),
]


@pytest.mark.parametrize(("source", "words"), MISSING, ids=[words for _, words in MISSING])
def test_what_was_not_sent_is_missed(source: Object, words: str) -> None:
    with pytest.raises(Refused, match=words):
        volumes.files({"name": "v", **source}, DATA)


@pytest.mark.parametrize("source", [{"name": "gone"}, {"name": "settings", "items": [{"key": "z", "path": "z"}]}])
def test_unless_it_is_optional(source: Object) -> None:
    assert volumes.files({"name": "v", "configMap": {**source, "optional": True}}, DATA) == {}
