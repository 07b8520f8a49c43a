"""How a run-once pod is created or replaced, and what is reported about refusals."""

from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.kube import Api, ApiError, Conflict, Forbidden, Invalid, Kind, RetryLater
from nestor.operator import oneshot
from nestor.operator.world.context import Result
from tests.unit.operator.builders import Object, build_pod, ended

ENDED = build_pod("hello-run", status=ended(1, "2026-01-01T00:00:00Z"), uid="old")
WORKING = build_pod("hello-run", status={"phase": "Running"}, uid="old", resourceVersion="7")
BODY = build_pod("hello-run", labels={labels.COMPONENT: "runner"})


class FakeApi:
    """Notes what it is asked, and answers a creation with an error if there is one."""

    def __init__(self, error: ApiError | None = None) -> None:
        self.error = error
        self.requests: list[tuple[Any, ...]] = []

    async def delete(
        self, kind: Kind, name: str, namespace: str, *, uid: str, version: str = "", grace_seconds: int | None = None
    ) -> bool:
        self.requests.append(("delete", name, uid, grace_seconds, *filter(None, [version])))
        return True

    async def create(self, kind: Kind, body: Object) -> Object:
        self.requests.append(("create", body["metadata"]["name"]))
        if self.error is not None:
            raise self.error
        return body


async def make(
    api: FakeApi, former: Object | None = None, *, is_patient: bool = True, refused_since: float = 60, body: Object = BODY
) -> Result:
    return await oneshot.make(cast(Api, api), body, former, is_patient=is_patient, refused_since=refused_since)


CREATED = ("create", "hello-run")


@pytest.mark.parametrize(
    ("former", "is_patient", "requests", "result"),
    [
        (None, True, [CREATED], Result()),
        (ENDED, True, [("delete", "hello-run", "old", 0), CREATED], Result()),
        (WORKING, True, [("delete", "hello-run", "old", None)], Result(oneshot.ENDING_SECONDS)),
        (WORKING, False, [("delete", "hello-run", "old", 0), CREATED], Result()),
    ],
)
async def test_one_that_works_gets_its_time_where_there_must_not_be_two(
    former: Object | None, is_patient: bool, requests: list[tuple[Any, ...]], result: Result
) -> None:
    api = FakeApi()
    assert await make(api, former, is_patient=is_patient) == result
    assert api.requests == requests


async def test_a_former_pod_on_its_way_out_is_waited_for() -> None:
    assert await make(FakeApi(Conflict(409, "AlreadyExists", "pods already exists"))) == Result(oneshot.ENDING_SECONDS)
    with pytest.raises(Conflict):
        await make(FakeApi(Conflict(409, "Conflict", "changed meanwhile")))


QUOTA = Forbidden(403, "Forbidden", "exceeded quota")
NO_VOLUME = "spec.volumes[0]: Required value: must specify a volume type"
OTHER_CAUSES = {"causes": [{"field": "spec.volumes[1]"}, {"field": "spec.volumes[0].image.pullPolicy"}]}


@pytest.mark.parametrize(
    ("error", "seconds", "delay", "told"),
    [
        # In a new namespace, the quota's status may be missing for a moment.
        (QUOTA, -1, 0.2, None),
        (QUOTA, 2, 2, None),
        (QUOTA, 4, 4, "exceeded quota"),
        (QUOTA, 9000, 60, "exceeded quota"),
        (Invalid(400, "BadRequest", "no"), 0, 0.2, "no"),
        (Invalid(422, "Invalid", "no", OTHER_CAUSES), 0, 0.2, "no"),
        (Invalid(422, "Invalid", NO_VOLUME, {"causes": [{"field": "spec.volumes[0]"}]}), 0, 0.2,
         f"{NO_VOLUME} ({oneshot.NO_IMAGE_VOLUMES})"),
    ],
)  # fmt: skip
async def test_what_the_host_refuses_is_told_and_tried_again_later_and_later(
    error: ApiError, seconds: float, delay: float, told: str | None
) -> None:
    body = BODY | {"spec": {"volumes": [{"name": "app", "image": {"reference": "hello:1"}}]}}
    problem = f"the runner's pod 'hello-run' is refused: {told}" if told else None
    assert await make(FakeApi(error), refused_since=seconds, body=body) == Result(delay, problem)


async def test_a_namespace_that_goes_ends_the_pass() -> None:
    causes = {"causes": [{"reason": "NamespaceTerminating"}]}
    with pytest.raises(RetryLater):
        await make(FakeApi(Forbidden(403, "Forbidden", "being terminated", causes)))


@pytest.mark.parametrize(
    ("pod", "is_ended"),
    [(None, False), (WORKING, True), (ENDED, False), (build_pod("hello-run", deletionTimestamp="x"), False)],
    ids=["none", "working", "ended", "terminating"],
)
async def test_only_a_pod_that_works_is_ended(pod: Object | None, is_ended: bool) -> None:
    """If it is still as the cache has it: it may have ended since, and its log is to stay."""
    api = FakeApi()
    await oneshot.end(cast(Api, api), pod)
    assert api.requests == ([("delete", "hello-run", "old", None, "7")] if is_ended else [])
