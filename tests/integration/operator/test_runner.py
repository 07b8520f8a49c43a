"""If the host's API server refuses the runner's pod, the user is told, and the operator tries again."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import build_job, host_namespace, message_of
from tests.waiting import job_with, wait_for


@pytest.mark.slow
async def test_a_quota_that_refuses_the_runner_is_told_and_waited_for(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("refused", namespace))
    where = await host_namespace(api, job)
    await wait_for(api, kinds.POD, "refused-run", where, bool)
    # As an admin's: not by the class, which would leave room for the runner.
    await api.create(kinds.RESOURCE_QUOTA, {"metadata": {"name": "full", "namespace": where}, "spec": {"hard": {"pods": "0"}}})
    await wait_for(api, kinds.RESOURCE_QUOTA, "full", where, lambda found: bool(found and found["status"].get("used")))
    await api.delete(kinds.POD, "refused-run", where, grace_seconds=0)
    job = await job_with(api, "refused", namespace, conditions.STEPS_APPLIED, "False", conditions.RUNNER_FAILED)
    said = message_of(job, conditions.STEPS_APPLIED)
    assert said.startswith("the runner's pod 'refused-run' is refused: ")
    assert "exceeded quota: full" in said
    await api.delete(kinds.RESOURCE_QUOTA, "full", where)
    await wait_for(api, kinds.POD, "refused-run", where, bool)
    await job_with(api, "refused", namespace, conditions.STEPS_APPLIED, "False", conditions.WAITING_FOR_CLUSTER)
