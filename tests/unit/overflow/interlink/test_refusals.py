"""What interLink cannot carry is named."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.overflow.interlink.build import find_refusals
from tests.unit.overflow.interlink.full_pod import build_full_pod

Object = dict[str, Any]


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
        (
            {"volumes": [{"name": "d", "persistentVolumeClaim": {}}]},
            "`spec.volumes[0].persistentVolumeClaim` (volume 'd') may not",
        ),
        ({"volumes": [{"name": "d", "hostPath": {"path": "/"}}]}, "`spec.volumes[0].hostPath` (volume 'd') may not"),
        ({"volumes": [{"name": "d", "ephemeral": {}}]}, "`spec.volumes[0].ephemeral` (volume 'd') may not"),
        ({"volumes": [{"name": "d", "image": {}}]}, "`spec.volumes[0].image` (volume 'd') may not"),
        ({"volumes": [{"name": "d", "csi": {}}]}, "`spec.volumes[0].csi` (volume 'd') may not"),
        (
            {"volumes": [{"name": "d", "projected": {"sources": [{"clusterTrustBundle": {}}]}}]},
            "`spec.volumes[0].projected.sources[0].clusterTrustBundle` (volume 'd') may not",
        ),
        ({"initContainers": [{"name": "a", "volumeDevices": [{}]}]}, "`spec.initContainers[0].volumeDevices` may not be set"),
        ({"containers": [{"name": "a", "resources": {"claims": [{}]}}]}, "`spec.containers[0].resources.claims` may not be set"),
        (
            {"containers": [{"name": "a", "volumeMounts": [{"mountPropagation": "Bidirectional"}]}]},
            "`spec.containers[0].volumeMounts[0].mountPropagation` must be 'None'",
        ),
        (
            {"containers": [{"name": "a", "env": [{"name": "A", "valueFrom": {"fileKeyRef": {}}}]}]},
            "`spec.containers[0].env[0].valueFrom.fileKeyRef` may not be set",
        ),
    ],
)
def test_what_interlink_cannot_carry_is_named(change: Object, words: str) -> None:
    (found,) = find_refusals({"spec": {"containers": []} | change})
    assert found.startswith(words)
