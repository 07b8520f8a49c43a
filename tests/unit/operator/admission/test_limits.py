"""How long jobs may run, and from which image they come."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from nestor.operator.admission.identity import Refused
from tests.unit.operator.builders import Object, build_job, build_policy, resolve


@pytest.mark.parametrize(("most", "wanted"), [(None, None), (None, 99), (60, None), (60, 60), (60, 30)])
def test_a_jobs_own_deadline_stays_what_it_is(most: int | None, wanted: int | None) -> None:
    job, policy = build_job(activeDeadlineSeconds=wanted), build_policy(maxActiveDeadlineSeconds=most)
    assert resolve(job, {"default": policy}).spec.active_deadline_seconds == wanted


def test_a_longer_deadline_than_the_classs_is_refused() -> None:
    job, policy = build_job(activeDeadlineSeconds=61), build_policy(maxActiveDeadlineSeconds=60)
    with pytest.raises(Refused) as refused:
        resolve(job, {"default": policy})
    assert refused.value.denial.reason == conditions.DEADLINE_NOT_ALLOWED
    assert refused.value.denial.message == (
        "`spec.activeDeadlineSeconds` may not be 61: at most 60 is allowed (class 'default', `maxActiveDeadlineSeconds`)"
    )


def test_an_app_image_must_be_allowed_when_the_job_starts() -> None:
    policy = build_policy(images={"allowed": ["registry.example.com", "docker.io/library"]})
    with pytest.raises(Refused) as refused:
        resolve(build_job(), {"default": policy})
    assert refused.value.denial.reason == conditions.IMAGE_NOT_ALLOWED
    assert refused.value.denial.message == (
        "app image 'registry.test/hello:1' is not allowed; allowed: docker.io/library, registry.example.com (`images.allowed`) "
        "(class 'default')"
    )
    running: Object = {"metadata": {}, "spec": {}}
    assert resolve(build_job(), {"default": policy}, running).app.image == "registry.test/hello:1"
    allowed = build_policy(images={"allowed": ["registry.test"]})
    assert resolve(build_job(), {"default": allowed}).app.image == "registry.test/hello:1"
