"""Parameters of a job that come from a Secret."""

import base64
import json

import pytest

from nestor.api import conditions
from nestor.kube import Api, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import Object, build_job, host_namespace, message_of, runner_of
from tests.waiting import exists, job_with

PASSWORD = "correct-horse"


def build_login(namespace: str) -> Object:
    """The user's Secret."""
    return {"metadata": {"name": "login", "namespace": namespace}, "type": "Opaque", "stringData": {"PASSWORD": PASSWORD}}


async def test_a_password_goes_from_the_users_secret_to_the_runner_alone(operator: Operator, api: Api, namespace: str) -> None:
    body = build_job("secret", namespace, parametersFrom={"secretRef": {"name": "login"}})
    (command,) = body["spec"]["app"]["appDef"]["commands"].values()
    command["parameters"] = {"PASSWORD": {"required": True, "variable": True}}
    job = await api.create(kinds.NESTED_APP_JOB, body)
    refused = await job_with(api, "secret", namespace, conditions.ADMITTED, "False", conditions.PARAMETERS_INVALID)
    assert message_of(refused, conditions.ADMITTED) == f"`spec.parametersFrom`: no Secret 'login' in namespace '{namespace}'"

    await api.apply(kinds.SECRET, build_login(namespace))
    job = await job_with(api, "secret", namespace, conditions.ADMITTED, "True")
    where = await host_namespace(api, job)
    stored = await exists(api, kinds.SECRET, "secret-plan", where)
    assert json.loads(base64.b64decode(stored["data"]["plan.json"]))["environment"] == {"PASSWORD": PASSWORD}
    pod = await runner_of(api, "secret", where)
    assert {"secretName": "secret-plan", "defaultMode": 0o440} in [volume.get("secret") for volume in pod["spec"]["volumes"]]
    maps = await api.list(kinds.CONFIG_MAP, where)
    assert PASSWORD not in json.dumps([maps, pod, job])

    change = {"spec": {"parametersFrom": {"secretRef": {"name": "another"}}}}
    with pytest.raises(Invalid, match="`parametersFrom` may not be changed"):
        await api.patch(kinds.NESTED_APP_JOB, "secret", namespace, change)
