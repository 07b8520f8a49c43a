"""The downward API tells about the nested pod, never about its host pod."""

import pytest

from nestor.api.objects import Object
from nestor.pods.translate import downward
from tests.unit.pods.translate.builders import build_pod


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("metadata.name", "metadata.annotations['nestor.dev/nested-name']"),
        ("metadata.namespace", "metadata.annotations['nestor.dev/nested-namespace']"),
        ("metadata.uid", "metadata.annotations['nestor.dev/nested-uid']"),
        ("metadata.labels", "metadata.annotations['downward.nestor.dev/labels']"),
        ("metadata.annotations", "metadata.annotations['downward.nestor.dev/annotations']"),
        ("spec.serviceAccountName", "metadata.annotations['downward.nestor.dev/service-account']"),
        ("spec.nodeName", "spec.nodeName"),
        ("status.podIP", "status.podIP"),
        ("status.hostIPs", "status.hostIPs"),
    ],
)
def test_host_path(path: str, host: str) -> None:
    assert downward.host_path(path) == host


def env(*paths: str) -> list[Object]:
    return [{"name": f"V{index}", "valueFrom": {"fieldRef": {"fieldPath": path}}} for index, path in enumerate(paths)]


def test_single_labels_and_annotations_have_an_annotation_each() -> None:
    paths = ["metadata.labels['app']", "metadata.annotations['example.org/Note']", "metadata.labels['absent']"]
    pod = build_pod(labels={"app": "web"}, container={"env": env(*paths)})
    pod["metadata"]["annotations"] = {"example.org/Note": "it's $(HERE)"}
    annotations = downward.build_annotations(pod)
    values = [annotations[downward.host_path(path)[len("metadata.annotations['") : -2]] for path in paths]
    assert values == ["web", "it's $(HERE)", ""]


def test_projected_items_and_accounts_are_found() -> None:
    item = {"path": "note", "fieldRef": {"fieldPath": "metadata.annotations"}}
    volume = {"name": "info", "projected": {"sources": [{"downwardAPI": {"items": [item]}}]}}
    pod = build_pod(volumes=[volume], serviceAccountName="robot", container={"env": env("spec.serviceAccountName")})
    assert downward.build_annotations(pod) == {
        "downward.nestor.dev/annotations": "",
        "downward.nestor.dev/service-account": "robot",
    }


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("plain", '"plain"'),
        ('say "hi"\n', r'"say \"hi\"\n"'),
        ("back\\slash\t", r'"back\\slash\t"'),
        ("größe €", '"größe €"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("\u200b\U000e0001", r'"\u200b\U000e0001"'),
    ],
)
def test_quote_is_go_s(value: str, quoted: str) -> None:
    assert downward.read_lines("metadata.annotations", {"metadata": {"annotations": {"a": value}}}) == [f"a={quoted}"]
