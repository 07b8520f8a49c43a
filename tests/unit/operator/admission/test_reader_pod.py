"""The reader's pod: when it is created, read and recreated; and that its output is not trusted."""

import json

import pytest

from nestor.api import conditions, names
from nestor.api.class_parts import ImagesPolicy
from nestor.api.labels import APP_IMAGE, COMPONENT, RUNNER_ATTEMPT
from nestor.apps import reader
from nestor.operator.admission import reader_pod as appreader
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.reader_pod import Unreadable, build_pod, decide_reader, parse_output
from nestor.operator.oneshot import NO_IMAGE_VOLUMES, Action
from nestor.operator.settings import Settings
from tests.unit.operator import builders
from tests.unit.operator.builders import NOW, UNPRIVILEGED, Object, ago

SETTINGS = Settings(image="nestor:1")
IMAGE = "registry.test/hello:1"
SOURCE = AppSource(image=IMAGE, origin=f"image '{IMAGE}'")


def pod(status: Object, *, image: str = IMAGE, attempt: int = 1, is_dropped: bool = False, **meta: str) -> Object:
    """The reader's pod, made a minute ago."""
    annotations = {APP_IMAGE: image, RUNNER_ATTEMPT: str(attempt)}
    found = builders.build_pod("hello-reader", status=status, annotations=annotations, creationTimestamp=ago(60), **meta)
    found["spec"]["volumes"] = [] if is_dropped else [{"name": "app", "image": {"reference": image}}]
    return found


def ended(code: int, seconds: int, reason: str = "Error", message: str = "") -> Object:
    """A pod's status with a container that ended so many seconds ago."""
    status = builders.ended(code, ago(seconds), reason)
    status["containerStatuses"][0]["state"]["terminated"]["message"] = message
    return status


RUNNING = {"phase": "Running"}


@pytest.mark.parametrize(
    ("found", "kind", "attempt", "delay"),
    [
        (None, "Create", 1, None),
        (pod(RUNNING), "Wait", 1, None),
        (pod(RUNNING, deletionTimestamp="x"), "Wait", 1, 1),
        (pod(RUNNING, image="other:1"), "Replace", 1, None),
        (pod(ended(0, 5)), "Read", 1, None),
        (pod(ended(70, 0)), "Wait", 1, 1),
        (pod(ended(70, 1)), "Replace", 2, None),
        (pod(ended(137, 3), attempt=3), "Wait", 3, 1),
        (pod(ended(137, 4), attempt=3), "Replace", 4, None),
        (pod(ended(137, 50), attempt=5000), "Wait", 5000, 10),
        (pod(ended(137, 60), attempt=5000), "Replace", 5001, None),
        (pod({"phase": "Failed", "reason": "Evicted"}), "Replace", 2, None),
        (pod({"phase": "Failed", "reason": "DeadlineExceeded"}, attempt=20), "Replace", 21, None),
        (pod(ended(14, 50)), "Wait", 1, 10),
        (pod(ended(14, 60)), "Replace", 2, None),
        (pod(RUNNING, is_dropped=True), "Replace", 2, None),
        (pod(ended(14, 50), is_dropped=True), "Wait", 1, 10),
        (pod(ended(10, 5000)), "Refuse", 1, None),
        (pod(ended(13, 5000), attempt=3), "Refuse", 1, None),
    ],
)
def test_what_is_done_with_the_pod(found: Object | None, kind: str, attempt: int, delay: float | None) -> None:
    action = decide_reader(found, IMAGE, NOW)
    assert (action.kind, action.attempt, action.delay) == (kind, attempt, delay)


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (RUNNING, conditions.READING_APPDEF, ""),
        (builders.waiting("ContainerCreating"), conditions.READING_APPDEF, ""),
        (builders.waiting("ImagePullBackOff", "Back-off"), conditions.IMAGE_PULL_FAILED,
         "pod 'hello-reader', container 'k3s': ImagePullBackOff: Back-off"),
        ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]},
         conditions.UNSCHEDULABLE, "pod 'hello-reader': 0/1 nodes"),
    ],
)  # fmt: skip
def test_what_it_waits_for_is_told(status: Object, reason: str, message: str) -> None:
    assert decide_reader(pod(status), IMAGE, NOW) == Action("Wait", message, reason=reason)
    assert decide_reader(pod(RUNNING, attempt=3), IMAGE, NOW).message == "attempt 3"
    assert decide_reader(pod(ended(14, 5)), IMAGE, NOW).message.startswith(NO_IMAGE_VOLUMES)


def test_the_pod_has_the_memory_that_the_biggest_file_takes() -> None:
    limit = appreader.RESOURCES["limits"]["memory"]
    assert int(limit.removesuffix("Mi")) * 2**20 >= 60 * reader.FILE_LIMIT


def test_a_fault_of_the_image_is_told_in_the_readers_words_made_harmless() -> None:
    said = decide_reader(pod(ended(13, 5, message="line 3,\x1b[31m column 7\n")), IMAGE, NOW)
    assert said == Action("Refuse", "line 3, [31m column 7", reason=conditions.APPDEF_INVALID)
    assert len(decide_reader(pod(ended(13, 5, message="x" * 4000)), IMAGE, NOW).message) == appreader.WORDS_LIMIT
    assert "exit code 10" in decide_reader(pod(ended(10, 5)), IMAGE, NOW).message


def test_a_log_that_cannot_be_had_is_asked_for_again_and_then_read_anew() -> None:
    assert appreader.decide_again(pod(ended(0, 10)), "no route", NOW, appreader.LOG_SECONDS).delay == 50
    assert appreader.decide_again(pod(ended(0, 60), attempt=2), "no route", NOW, appreader.LOG_SECONDS).kind == "Replace"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b"", "it is not an AppDef: Expecting value"),
        (b"[]\n", "a JSON object"),
        (b'{"a": "', "Unterminated string"),
        (b"\xff", "'utf-8' codec"),
        (b'{"a": NaN}', "`appDef.a` must be a finite number"),
        (b'{"a": "\\ud800"}', "half a character"),
        (b'{"a": ' + b"9" * 5000 + b"}", "it is not an AppDef"),
        (b'{"a":' * 200_000, "it has more than"),
        (b'{"a":' * 80 + b"1" + b"}" * 80, "nested deeper than 64 levels"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "it is not an AppDef"),
        (json.dumps({"a": "x" * 2**19}).encode(), "it has more than 524288 bytes"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_appdef_is_not_taken(output: bytes, message: str) -> None:
    assert parse_output('{"commands": {"Hä": {}}}\n'.encode()) == {"commands": {"Hä": {}}}
    with pytest.raises(Unreadable) as unreadable:
        parse_output(output)
    assert message in str(unreadable.value)
    assert len(str(unreadable.value)) < 600


def test_the_pod_can_do_nothing_but_read() -> None:
    shape = builders.build_shape()
    made = build_pod(SOURCE, shape, SETTINGS, ImagesPolicy(), 3)
    spec, (container,) = made["spec"], made["spec"]["containers"]
    assert made["metadata"]["name"] == "hello-reader"
    assert made["metadata"]["labels"][COMPONENT] == "reader"
    assert made["metadata"]["annotations"] == {APP_IMAGE: IMAGE, RUNNER_ATTEMPT: "3"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] > 0
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == UNPRIVILEGED
    assert {"requests", "limits"} == set(container["resources"])
    assert [volume["name"] for volume in spec["volumes"]] == ["app"]
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert "imagePullSecrets" not in spec
    assert spec["volumes"] == [{"name": "app", "image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}]
    private = AppSource(image=IMAGE, image_pull_secret_name="mine")
    pulled = build_pod(private, shape, SETTINGS, ImagesPolicy(always_pull=True, pull_secret_names=["house"]), 1)["spec"]
    assert pulled["imagePullSecrets"] == [{"name": "hello-pull"}, {"name": names.operators_pull_secret("house")}]
    assert pulled["volumes"] == [{"name": "app", "image": {"reference": IMAGE, "pullPolicy": "Always"}}]
    listed = build_pod(AppSource(image="hello"), shape, SETTINGS, ImagesPolicy(allowed=["docker.io"]), 1)
    assert listed["spec"]["volumes"][0]["image"]["reference"] == "docker.io/library/hello", "by the name that was judged"
    assert listed["metadata"]["annotations"][APP_IMAGE] == "hello"


def test_its_policy_closes_the_network_for_it_alone() -> None:
    spec = appreader.build_policy(builders.build_shape())["spec"]
    assert spec["podSelector"]["matchLabels"][COMPONENT] == "reader"
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert not {"ingress", "egress"} & set(spec)


@pytest.mark.parametrize(
    ("reason", "age", "attempt", "is_patient"),
    [
        (conditions.READING_APPDEF, 599, 1, True),
        (conditions.READING_APPDEF, 600, 1, False),
        (conditions.READING_APPDEF, 5, 3, True),
        (conditions.READING_APPDEF, 5, 4, False),
        (conditions.IMAGE_PULL_FAILED, 59, 1, True),
        (conditions.IMAGE_PULL_FAILED, 60, 1, False),
        (conditions.UNSCHEDULABLE, 60, 1, False),
    ],
)
def test_a_job_keeps_its_place_for_a_while(reason: str, age: int, attempt: int, is_patient: bool) -> None:
    made = pod({}, attempt=attempt)
    made["metadata"]["creationTimestamp"] = ago(age)
    assert (appreader.find_patience(made, Action("Wait", reason=reason), NOW) > 0) is is_patient
    assert appreader.find_patience(None, Action("Create"), NOW) == appreader.PATIENCE_SECONDS
