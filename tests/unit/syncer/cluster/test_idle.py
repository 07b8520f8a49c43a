"""Whether a cluster's pods wait for work."""

import pytest

from nestor.api.objects import Object
from nestor.syncer.cluster.idle import is_idle


def build_pod(name: str, phase: str = "Running") -> Object:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def build_usage(*cpu: str) -> Object:
    return {"containers": [{"name": str(at), "usage": {"cpu": value}} for at, value in enumerate(cpu)]}


JOB: Object = {"metadata": {"name": "pi"}, "spec": {}}
WEB, DB = build_pod("web"), build_pod("db")


@pytest.mark.parametrize(
    ("pods", "usages", "jobs", "expected"),
    [
        ([WEB, DB], {"web": build_usage("1m", "2m"), "db": build_usage("999999n")}, [], True),
        ([WEB, DB], {"web": build_usage("1m"), "db": build_usage("6m", "4m")}, [], False),
        ([WEB, DB], {"web": build_usage("1m")}, [], False),  # not measured yet, or at a backend
        ([WEB, build_pod("done", "Succeeded")], {"web": build_usage("0")}, [], True),
        ([], {}, [], False),
        ([WEB], {"web": build_usage("0")}, [JOB], False),  # it may sleep for an hour between two steps
        ([WEB], {"web": build_usage("0")}, [{"metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *"}}], False),
        ([WEB], {"web": build_usage("0")}, [JOB | {"spec": {"suspend": True}}], True),
        ([WEB], {"web": build_usage("0")}, [JOB | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}], True),
    ],
)
def test_a_cluster_is_idle_if_each_pod_is_measured_and_waits(
    pods: list[Object], usages: dict[str, Object], jobs: list[Object], expected: bool
) -> None:
    assert is_idle(pods, usages, jobs) is expected
