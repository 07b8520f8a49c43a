"""How much jobs of a namespace may have left before a further one begins."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nestor.api import conditions
from nestor.operator.guests.retained import check_retained, find_limit
from tests.unit.operator.builders import Object, build_job, build_policy, resolve


def build_volume(size: str | None, **meta: Any) -> Object:
    """A volume that a job has left."""
    return {"metadata": {"name": "pv", **meta}, "spec": {"capacity": {"storage": size}} if size else {}}


@pytest.mark.parametrize(
    ("storage", "quota", "limit"),
    [
        ({"retention": "Retain"}, {}, "100Gi"),
        ({"retention": "Retain"}, {"requests.storage": "5Gi"}, "5Gi"),
        ({"retention": "Retain", "retainedLimit": "7Gi"}, {"requests.storage": "5Gi"}, "7Gi"),
        ({"retention": "Retain", "retainedLimit": 0}, {}, "0"),
        ({"retainedLimit": "7Gi"}, {}, None),
        (None, {}, None),
    ],
)
def test_the_limit_is_the_class_s_or_its_quota_once(storage: Object | None, quota: Object, limit: str | None) -> None:
    given = {"storage": {"classes": ["fast"], **storage}} if storage is not None else {}
    assert find_limit(build_policy(namespace={"quota": quota}, **given)) == limit


@pytest.mark.parametrize(
    ("sizes", "is_refused"),
    [
        ((), False),
        (("4Gi",), False),
        (("4Gi", "1Gi"), True),
        (("6Gi",), True),
        # Each counts as one gibibyte at least, so that their number is bounded, too.
        (("1Mi",) * 4, False),
        (("1Mi",) * 5, True),
        ((None, "junk", "1k", "1k", "1k"), True),
    ],
)
def test_a_job_begins_only_while_less_is_left_than_the_limit(sizes: tuple[str | None, ...], is_refused: bool) -> None:
    found = check_retained("team-a", "databases", "5Gi", [build_volume(size) for size in sizes])
    assert (found is not None) is is_refused
    if found is not None:
        assert (found.reason, found.status) == (conditions.RETAINED_LIMIT, "False")
        assert found.retry_seconds
        assert "storage.retainedLimit" in found.message
        assert "kubectl get pv -l nestor.dev/job-namespace=team-a" in found.message


def test_snapshots_count_as_the_volumes_that_could_be_filled_from_them() -> None:
    content = {"metadata": {}, "spec": {"volumeSnapshotRef": {"name": "x"}}, "status": {"restoreSize": 4 * 2**30}}
    assert check_retained("team-a", "databases", "5Gi", [content]) is None
    found = check_retained("team-a", "databases", "5Gi", [content, {"metadata": {}, "spec": content["spec"]}])
    assert found is not None
    assert re.search(r"the volumes and snapshots .* \(2\) .* and `kubectl get volumesnapshotcontents` alike", found.message)


def test_with_a_limit_of_nothing_no_job_begins() -> None:
    assert check_retained("team-a", "databases", "0", []) is not None


def test_a_job_s_own_size_and_machine_do_not_change_the_limit() -> None:
    policy = build_policy(storage={"classes": ["fast"], "retention": "Retain"})
    resolved = resolve(build_job(storage={"size": "1Gi"}), {"default": policy})
    assert find_limit(resolved.policy) == "1Gi"  # which is why the class itself is asked
    assert find_limit(policy) == "100Gi"
