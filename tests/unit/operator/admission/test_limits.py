"""How long jobs may run, and from which image they come."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.operator.admission.identity import Refused
from nestor.operator.admission.limits import cap_deadline
from tests.unit.operator.builders import Object, build_job, build_policy, resolve


@pytest.mark.parametrize(
    ("most", "wanted", "found"), [(None, None, None), (None, 99, 99), (60, None, 60), (60, 60, 60), (60, 30, 30)]
)
def test_a_job_runs_no_longer_than_its_class_allows(most: int | None, wanted: int | None, found: int | None) -> None:
    job = build_job(activeDeadlineSeconds=wanted)
    policy = build_policy(maxActiveDeadlineSeconds=most)
    assert resolve(job, {"default": policy}).spec.active_deadline_seconds == found
    assert cap_deadline(NestedAppJobSpec.model_validate(job["spec"]), policy).active_deadline_seconds == found


def test_a_longer_deadline_is_refused_and_ends_a_running_job_all_the_same() -> None:
    job, policy = build_job(activeDeadlineSeconds=61), build_policy(maxActiveDeadlineSeconds=60)
    with pytest.raises(Refused) as refused:
        resolve(job, {"default": policy})
    assert refused.value.reason == conditions.DEADLINE_NOT_ALLOWED
    assert refused.value.message == (
        "`spec.activeDeadlineSeconds` may not be 61: at most 60 is allowed (class 'default', `maxActiveDeadlineSeconds`)"
    )
    spec = NestedAppJobSpec.model_validate(job["spec"])
    assert cap_deadline(spec, policy).active_deadline_seconds == 60
    assert cap_deadline(spec, None) is spec


def test_an_app_image_must_be_allowed_when_the_job_starts() -> None:
    policy = build_policy(images={"allowed": ["registry.example.com", "docker.io/library"]})
    with pytest.raises(Refused) as refused:
        resolve(build_job(), {"default": policy})
    assert refused.value.reason == conditions.IMAGE_NOT_ALLOWED
    assert refused.value.message == (
        "app image 'registry.test/hello:1' is not allowed; allowed: docker.io/library, registry.example.com (`images.allowed`) "
        "(class 'default')"
    )
    running: Object = {"metadata": {}, "spec": {}}
    assert resolve(build_job(), {"default": policy}, running).app.image == "registry.test/hello:1"
    allowed = build_policy(images={"allowed": ["registry.test"]})
    assert resolve(build_job(), {"default": allowed}).app.image == "registry.test/hello:1"
