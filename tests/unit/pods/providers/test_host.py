"""What the host cluster's answers are to a provider's caller. The contract itself is held on a real API server."""

from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, Unreachable
from nestor.pods.providers import errors
from tests.fakes.host import MemoryHost
from tests.unit.pods.translate.builders import TARGET

META = {"name": "web", "namespace": TARGET.namespace, "uid": "u", "labels": {labels.NESTED_UID: "nested"}}
POD: Object = {"metadata": META, "spec": {}}
EXISTS = Conflict(409, "AlreadyExists", "pods already exists")


def provider(error: ApiError, *pods: Object) -> MemoryHost:
    """Whose API server answers each write with that error."""
    made = MemoryHost(*pods)
    made.cluster.fault = lambda verb, _: error if verb != "GET" else None
    return made


UID = {"causes": [{"field": "metadata.uid"}]}


@pytest.mark.parametrize(
    ("error", "raised", "status"),
    [
        (NotFound(404, "NotFound", "gone"), errors.NotFound, 404),
        (Invalid(422, "Invalid", "no", UID), errors.NotFound, 404),
        (Conflict(409, "Conflict", "UID in precondition: u"), errors.NotFound, 404),
        (Conflict(409, "Conflict", "changed meanwhile"), errors.NotYet, 503),
        (Forbidden(403, "Forbidden", "exceeded quota"), errors.InvalidInput, 403),
        (Invalid(422, "Invalid", "no such field"), errors.InvalidInput, 422),
        # Words that a tenant may have chosen, not the quota's.
        (Invalid(422, "Invalid", "exceeded quota: "), errors.InvalidInput, 422),
        (Unreachable("connection refused"), Unreachable, 503),
    ],
)
async def test_what_an_answer_to_a_patch_means(error: ApiError, raised: type[Exception], status: int) -> None:
    with pytest.raises(raised) as caught:
        await provider(error).patch(POD, {})
    assert type(caught.value) is raised
    assert cast(Any, caught.value).status == status
    assert cast(Any, caught.value).message


@pytest.mark.parametrize("nested", [None, "another"])
async def test_a_name_that_another_pod_has_or_just_had_is_waited_for(nested: str | None) -> None:
    there = [{"metadata": META | {"labels": {labels.NESTED_UID: nested}}, "spec": {}}] if nested else []
    with pytest.raises(errors.NotYet):
        await provider(EXISTS, *there).create(POD)


async def test_a_pod_that_is_there_already_is_returned() -> None:
    assert (await provider(EXISTS, POD).create(POD))["metadata"]["uid"] == "u"


async def test_a_quota_is_told_in_words_that_hold_for_all_pods_of_a_size() -> None:
    quota = "exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"
    with pytest.raises(errors.NoRoom) as caught:
        await provider(Forbidden(403, "Forbidden", f'pods "web" is forbidden: {quota}')).create(POD)
    assert (caught.value.message, caught.value.status) == (quota, 403)
