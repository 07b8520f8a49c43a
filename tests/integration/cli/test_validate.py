"""`nestor validate` and a real API server give every object of the table the same verdict; an API server refuses some more."""

import pytest

from nestor.clients.cli.offline.check import check_one
from nestor.kube import Api, Invalid, kinds
from tests.unit.clients.cli.objects import BAD_TO_SERVERS, GOOD, TABLE, Object

OURS = (kinds.NESTED_APP_JOB, kinds.NESTED_APP, kinds.NESTED_CLUSTER, kinds.NESTED_CLASS, kinds.OVERFLOW_BACKEND)
KINDS = {kind.name: kind for kind in OURS}


async def ask(host: Api, body: Object) -> str | None:
    """What the API server says against creating it, without creating it; None when it would."""
    kind = KINDS[body["kind"]]
    try:
        path = kind.path("default" if kind.namespaced else None)
        await host.request("POST", path, {"dryRun": "All", "fieldValidation": "Strict"}, body)
    except Invalid as error:
        return error.message
    return None


@pytest.mark.parametrize(("body", "part"), [pytest.param(body, part, id=name) for name, body, part in TABLE])
async def test_the_same_verdict_as_the_api_server(host: Api, body: Object, part: str) -> None:
    refusal = await ask(host, body)
    offline = check_one(body).faults
    assert (refusal is None) == (part == GOOD), refusal
    assert (refusal is None) == (not offline), (refusal, offline)


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BAD_TO_SERVERS])
async def test_what_only_the_api_server_refuses(host: Api, body: Object) -> None:
    assert await ask(host, body) is not None
    assert not check_one(body).faults
