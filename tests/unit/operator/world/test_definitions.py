"""Older definitions hold the operator's work back, with the command that updates them."""

import copy
import logging
from typing import Any, cast

import pytest

from nestor.api.crd import RESOURCES, UPDATE_COMMAND, build_crd
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Forbidden, kinds
from nestor.operator.world.definitions import Definitions, find_problem
from tests.fakes.api import MemoryApi

CURRENT = {f"{resource.plural}.nestor.dev": build_crd(resource) for resource in RESOURCES}


def edit(plural: str, *path: str, remove: str = "", add: str = "") -> dict[str, Object]:
    """The definitions with one field less or more."""
    found = copy.deepcopy(CURRENT)
    node = found[f"{plural}.nestor.dev"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name in path:
        node = node["properties"][name]
    if remove:
        del node["properties"][remove]
    if add:
        node["properties"][add] = {"type": "string"}
    return found


OLD = edit("nestedclusters", "status", "policy", remove="alwaysPullImages")


@pytest.mark.parametrize(
    ("found", "part"),
    [
        (OLD, ": that of NestedCluster lacks `status.policy.alwaysPullImages`. Jobs"),
        (edit("nestedclasses", "spec", remove="images"), ": that of NestedClass lacks `spec.images`. Jobs"),
        ({}, ": there is none of NestedAppJob, NestedApp, NestedCluster, NestedClass, OverflowBackend. Jobs"),
        (
            {name: crd for name, crd in OLD.items() if "nestedapps" not in name},
            ": there is none of NestedApp; that of NestedCluster lacks `status.policy.alwaysPullImages`. Jobs",
        ),
    ],
)
def test_what_is_missing_is_told_with_the_command(found: dict[str, Object], part: str) -> None:
    problem = find_problem(found) or ""
    assert part in problem
    assert problem.endswith(f": {UPDATE_COMMAND}")


@pytest.mark.parametrize("found", [CURRENT, edit("nestedclasses", "spec", add="ofALaterVersion")], ids=["current", "newer"])
def test_fields_beyond_ours_do_no_harm(found: dict[str, Object]) -> None:
    assert find_problem(found) is None


class Host(MemoryApi):
    """Definitions, one set after the other; an error: it answers none of that time's requests."""

    def __init__(self, *answers: dict[str, Object] | ApiError) -> None:
        super().__init__()
        self._answers = iter(answers)
        self._left = 0
        self._now: dict[str, Object] | ApiError = {}

    async def list(self, kind: Any, namespace: str | None = None, *, fields: str = "", **_: Any) -> list[Object]:
        """The one that is asked for by its name."""
        assert kind == kinds.CRD
        if not self._left:
            self._now, self._left = next(self._answers), len(RESOURCES)
        self._left -= 1
        if isinstance(self._now, ApiError):
            raise self._now
        found = self._now.get(fields.removeprefix("metadata.name="))
        return [found] if found else []


async def test_it_waits_until_they_are_updated_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    definitions = Definitions(cast(Api, Host(OLD, OLD, ApiError(500, "InternalError", "broken"), OLD, CURRENT)))
    assert definitions.problem
    waits = list[str | None]()

    def delays() -> Any:
        for _ in range(5):
            yield 0
            waits.append(definitions.problem)

    with caplog.at_level(logging.WARNING):
        await definitions.wait(delays())
    assert definitions.problem is None
    assert waits == 4 * [find_problem(OLD)]
    assert [record.message for record in caplog.records] == [find_problem(OLD)]


async def test_who_may_not_see_them_works_on() -> None:
    definitions = Definitions(cast(Api, Host(Forbidden(403, "Forbidden", "no"))))
    await definitions.wait([0])
    assert definitions.problem is None
