"""The definitions of VolumeSnapshots that nested clusters get."""

from __future__ import annotations

from typing import Any

from nestor.syncer.copies.rows.snapshots import build_definition

Object = dict[str, Any]


def define(plural: str) -> Object:
    """A definition of the host's, with an older version and what leads from one to the other."""
    versions: list[Object] = [
        {"name": name, "served": True, "storage": name == "v1beta1", "schema": {}} for name in ("v1beta1", "v1")
    ]
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "x", "namespace": "of-the-host"}}}}
    notes = {"api-approved.kubernetes.io": "https://example.org", "of-the-host": "x"}
    return {
        "metadata": {"name": f"{plural}.snapshot.storage.k8s.io", "annotations": notes},
        "spec": {
            "group": "snapshot.storage.k8s.io",
            "names": {"plural": plural, "kind": "X"},
            "scope": "Namespaced",
            "versions": versions,
            "conversion": conversion,
        },
    }


def test_a_definition_has_one_version_and_nothing_that_calls_the_host() -> None:
    built = build_definition(define("volumesnapshots"))
    assert "conversion" not in built["spec"]
    assert built["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True, "schema": {}}]
    assert built["metadata"]["annotations"] == {"api-approved.kubernetes.io": "https://example.org"}
