"""What has no effect on the host is named."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.translate import ignored
from tests.unit.translate.builders import build_pod

EVERY_DAEMON = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists"}
    for name in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, []),
        ({"schedulerName": "default-scheduler", "priority": 0, "preemptionPolicy": "PreemptLowerPriority"}, []),
        ({"tolerations": EVERY_DAEMON}, []),
        ({"schedulerName": "volcano"}, ["`spec.schedulerName` is 'volcano', but the host cluster's scheduler places all pods"]),
        (
            {"priorityClassName": "high", "priority": 1000},
            ["`spec.priorityClassName` is 'high', but priorities are not supported"],
        ),
        (
            {"subdomain": "db", "setHostnameAsFQDN": True},
            [
                "`spec.setHostnameAsFQDN` is true, but the pod's host name has no domain",
                "`spec.subdomain` is 'db', but in the pod its host name has no domain; its DNS records have",
            ],
        ),
        (
            {"tolerations": [{"key": "gpu", "operator": "Exists"}, {"operator": "Exists"}, {"key": "gpu", "value": "x"}]},
            ["`spec.tolerations` has all taints, 'gpu', but taints of the host cluster's nodes may not be tolerated"],
        ),
    ],
)
def test_fields_without_effect(spec: dict[str, Any], found: list[str]) -> None:
    assert ignored.find_ignored(build_pod(**spec)) == found
