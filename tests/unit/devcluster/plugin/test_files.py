"""Volumes, from hop 1 to files on the machine."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from devcluster.plugin import grouping, volumes
from devcluster.plugin.refusals import Refused
from devcluster.plugin.spec import Folders
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


def test_files_are_grouped_by_the_containers_that_mount_them() -> None:
    none: Object = {"configMaps": [], "secrets": [], "projectedvolumemaps": [], "emptyDirs": []}
    assert grouping.group(ASKED) == [
        {"name": "before", **none, "configMaps": [CONFIG]},
        {"name": "main", **none, "secrets": [SECRET], "projectedvolumemaps": [TOKENS], "emptyDirs": ["scratch"]},
        {"name": "other", **none},
    ]


def test_groups_are_collected_again() -> None:
    assert DATA == {"configMaps": {"settings": CONFIG}, "secrets": {"login": SECRET}, "projectedvolumemaps": {"tokens": TOKENS}}


FILES: list[dict[str, File]] = [
    {"a": File(b"1"), "b": File(b"2"), "c": File(b"3")},
    {"password": File(b"secret", 0o400), "user": File(b"me", 0o400)},
    {"token": File(b"t"), "ca.crt": File(b"c")},
    {},
]


@pytest.mark.parametrize(("volume", "files"), list(zip(VOLUMES, FILES, strict=True)), ids=[item["name"] for item in VOLUMES])
def test_the_files_of_a_volume(volume: Object, files: dict[str, File]) -> None:
    assert volumes.files(volume, DATA) == files


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


def test_a_value_that_is_no_base64_is_refused() -> None:
    data = {"secrets": {"login": {"metadata": {"name": "login"}, "data": {"password": "not base64!"}}}}
    with pytest.raises(Refused, match="a value of 'login' is not base64"):
        volumes.files(VOLUMES[1], data)


def test_everything_is_written(tmp_path: Path) -> None:
    given: Object = ASKED["pod"]
    folders = Folders(tmp_path)
    volumes.write(given, DATA, folders)
    assert (folders.volumes / "config" / "a").read_text() == "1"
    password = folders.volumes / "login" / "password"
    assert (password.read_text(), password.stat().st_mode & 0o777) == ("secret", 0o400)
    assert (folders.volumes / "scratch").stat().st_mode & 0o777 == 0o777
    assert "127.0.0.1\tone" in (folders.etc / "hosts").read_text()
    assert folders.message("main").exists()


def test_a_path_below_an_empty_volume_is_made(tmp_path: Path) -> None:
    mount = {"name": "scratch", "mountPath": "/x", "subPath": "a/b"}
    given = pod(volumes=VOLUMES[3:], containers=[{"name": "main", "image": IMAGE, "volumeMounts": [mount]}])
    volumes.write(given, DATA, Folders(tmp_path))
    assert (tmp_path / "volumes" / "scratch" / "a" / "b").is_dir()
