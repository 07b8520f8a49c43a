"""Copies are written only where they are ours, and only those that were looked at."""

from typing import cast

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Conflict, Forbidden, Informer, Invalid, NotFound, RetryLater, kinds
from nestor.syncer.copies.copier import Writer
from nestor.syncer.copies.fields import LABELS, value
from nestor.syncer.copies.row import is_synced_from
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET

OURS = {labels.CLUSTER: TARGET.cluster, labels.NESTED_UID: "u"}


@pytest.mark.parametrize(
    ("marks", "is_ours"),
    [
        (OURS, True),
        # A user's, another cluster's, the cluster's own.
        ({}, False),
        (OURS | {labels.CLUSTER: "other"}, False),
        ({labels.CLUSTER: TARGET.cluster}, False),
    ],
)
async def test_what_is_taken_for_ours(marks: Object, is_ours: bool) -> None:
    assert is_synced_from(TARGET.cluster, {"metadata": {"labels": marks}}) is is_ours
    api = MemoryApi()
    there = api.put(kinds.NODE, node(marks, size=1))
    if is_ours:
        await build_writer(api).write(None, node(OURS, size=2))
    else:
        with pytest.raises(Forbidden, match="belongs to someone else"):
            await build_writer(api).write(None, node(OURS, size=2))
        assert api.look(kinds.NODE, "n") == there
    assert (api.look(kinds.NODE, "n") or {})["status"] == {"size": 2 if is_ours else 1}


def node(marks: Object, *, size: int = 1) -> Object:
    return {"metadata": {"name": "n", "labels": marks}, "spec": {}, "status": {"size": size}}


def build_writer(api: MemoryApi) -> Writer:
    """Of objects whose label and status are ours."""
    fields, cache = (LABELS, value("status.size")), Informer(cast(Api, api), kinds.NODE)
    return Writer(cast(Api, api), kinds.NODE, fields, lambda found: is_synced_from(TARGET.cluster, found), cache)


async def test_a_patch_of_the_status_names_the_object_as_well() -> None:
    api = MemoryApi()
    there = api.put(kinds.NODE, node(OURS))
    await build_writer(api).update(there, node(OURS, size=2))
    assert api.asked == ["PATCH nodes n", "PATCH nodes n/status"]
    assert [body["metadata"]["uid"] for body in api.bodies] == [there["metadata"]["uid"]] * 2


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [
        (NotFound(404, "NotFound", "gone"), True),
        (Conflict(409, "Conflict", "changed meanwhile"), True),
        (Invalid(422, "Invalid", "metadata.uid", {"causes": [{"field": "metadata.uid"}]}), True),
        (Invalid(422, "Invalid", "no such field"), False),
        (Forbidden(403, "Forbidden", "exceeded quota"), False),
    ],
)
async def test_what_changes_at_the_same_moment_is_looked_at_again(error: ApiError, is_retried: bool) -> None:
    api = MemoryApi()
    there = api.put(kinds.NODE, node(OURS))
    api.refusal = lambda *_: error
    with pytest.raises(RetryLater if is_retried else type(error)):
        await build_writer(api).update(there, node(OURS, size=2))


async def test_only_the_very_object_that_was_looked_at_is_deleted() -> None:
    api = MemoryApi()
    there = api.put(kinds.NODE, node(OURS))
    api.drop(kinds.NODE, "n")
    successor = api.put(kinds.NODE, node(OURS))
    await build_writer(api).remove(there)
    assert api.look(kinds.NODE, "n") == successor
    await build_writer(api).remove(successor)
    assert api.look(kinds.NODE, "n") is None


async def test_one_that_a_create_met_and_that_went_at_once_is_looked_at_again() -> None:
    with pytest.raises(RetryLater, match="was deleted just now"):
        await build_writer(MemoryApi()).find_taken(node(OURS))
