"""What resting means for Jobs and pods, as tables."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.syncer.suspend import evict, jobs
from tests.unit.pods.translate.builders import build_pod

OURS = {"nestor.dev/suspended-by": "nestor"}


def job(*, annotations: Object | None = None, deleting: bool = False, condition: str = "", **spec: Any) -> Object:
    metadata = {"name": "train", "namespace": "shop", "uid": "u", "resourceVersion": "7", "annotations": annotations or {}}
    if deleting:
        metadata["deletionTimestamp"] = "t"
    status = {"conditions": [{"type": condition, "status": "True"}]} if condition else {}
    return {"metadata": metadata, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("found", "is_due"),
    [
        (job(), True),
        (job(suspend=False), True),
        (job(annotations=OURS), True),  # its owner resumed it meanwhile
        (job(suspend=True), False),
        (job(suspend=True, annotations=OURS), False),
        (job(deleting=True), False),
        (job(condition="Complete"), False),
        (job(condition="Failed"), False),
    ],
)
def test_what_is_suspended(found: Object, is_due: bool) -> None:
    patch = jobs.build_job_patch(found, suspended=True)
    assert patch == ({"metadata": {"resourceVersion": "7", "annotations": OURS}, "spec": {"suspend": True}} if is_due else None)


@pytest.mark.parametrize(
    ("found", "is_due"),
    [
        (job(suspend=True, annotations=OURS), True),
        (job(suspend=False, annotations=OURS), True),
        (job(suspend=True), False),
        (job(), False),
        (job(suspend=True, annotations={"nestor.dev/suspended-by": "somebody"}), False),
    ],
)
def test_what_is_resumed(found: Object, is_due: bool) -> None:
    patch = jobs.build_job_patch(found, suspended=False)
    metadata = {"resourceVersion": "7", "annotations": {"nestor.dev/suspended-by": None}}
    assert patch == ({"metadata": metadata, "spec": {"suspend": False}} if is_due else None)


@pytest.mark.parametrize(
    ("found", "is_done"),
    [
        (job(), False),
        (job(suspend=True), False),
        (job(suspend=True, condition="Suspended"), False),
        (job(condition="Complete"), True),
        (job(condition="Failed"), True),
        (job(managedBy="kubernetes.io/job-controller"), False),
        (job(managedBy="example.org/queue"), True),
    ],
)
def test_when_a_job_will_not_end_its_pods_itself(found: Object, is_done: bool) -> None:
    assert jobs.is_done_with_pods(found) is is_done


@pytest.mark.parametrize(("field", "is_kept"), [("f:nodeName", True), ("f:containers", False)])
def test_a_node_that_the_user_named_is_kept(field: str, is_kept: bool) -> None:
    pod = build_pod(nodeName="n")
    pod["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {field: {}}}}]
    assert ("nodeName" in evict.build_copy(pod)["spec"]) is is_kept
