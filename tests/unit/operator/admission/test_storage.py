"""What a class and a job's wishes come to."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.allowances import JobStorage, Storage
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.operator.admission.checks import apply_size, read_wishes, resolve_storage
from nestor.operator.admission.identity import Refused
from nestor.operator.admission.placement import apply_machine
from tests.unit.operator.builders import Object, build_job, build_policy, resolve

CLASS: Object = {"classes": ["fast", "slow"], "retention": "Retain"}


def read(**spec: Any) -> NestedAppJobSpec:
    """A job's spec."""
    return NestedAppJobSpec.model_validate(build_job(**spec)["spec"])


def policy(storage: Object | None = CLASS, **spec: Any) -> NestedClassSpec:
    """A class."""
    return build_policy(**({"storage": storage} if storage is not None else {}), **spec)


@pytest.mark.parametrize(
    ("storage", "wish", "default"),
    [
        (CLASS, None, "fast"),
        (CLASS, {"className": "slow"}, "slow"),
        (CLASS, {"className": "hidden"}, "fast"),
        ({"classes": []}, {"className": "fast"}, None),
    ],
)
def test_the_syncer_gets_the_classes_and_which_is_the_default(storage: Object, wish: Object | None, default: str | None) -> None:
    found = resolve_storage(policy(storage), read(**({"storage": wish} if wish else {})))
    assert found is not None
    assert type(found) is Storage
    assert (sorted(found.classes), found.default) == (storage["classes"], default)


def test_a_class_that_says_nothing_comes_to_nothing() -> None:
    assert resolve_storage(policy(None), read(storage={"className": "fast"})) is None
    found = resolve_storage(policy(), None)
    assert found is not None
    assert found.default == "fast"


@pytest.mark.parametrize(
    ("storage", "quota", "wish", "message"),
    [
        (CLASS, {}, {"className": "hidden"}, "`spec.storage.className` may not be 'hidden': the class allows 'fast', 'slow'"),
        (None, {}, {"className": "fast"}, "`spec.storage.className` may not be 'fast': the class allows none"),
        (CLASS, {}, {"size": "101Gi"}, "`spec.storage.size` may not be '101Gi': at most 100Gi is allowed"),
        (CLASS, {"requests.storage": "1Gi"}, {"size": "1025Mi"},
         "`spec.storage.size` may not be '1025Mi': at most 1Gi is allowed"),
        (None, {}, {"size": "1Gi"}, "`spec.storage.size` may not be '1Gi': the class allows no persistent volumes"),
    ],
)  # fmt: skip
def test_a_job_that_wishes_too_much_is_refused(storage: Object | None, quota: Object, wish: Object, message: str) -> None:
    given = policy(storage, namespace={"quota": quota})
    with pytest.raises(Refused) as refused:
        resolve(build_job(storage=wish), {"default": given})
    assert refused.value.denial.reason == conditions.STORAGE_NOT_ALLOWED
    assert refused.value.denial.message == f"{message} (class 'default')"


def test_a_job_s_size_is_its_quota() -> None:
    resolved = resolve(build_job(storage={"size": "5Gi"}), {"default": policy(namespace={"quota": {"pods": "7"}})})
    assert resolved.policy.namespace.quota == {"pods": "7", "requests.storage": "5Gi"}


def test_a_machine_may_allow_another_size_than_its_class() -> None:
    machines = [{"name": "big", "quota": {"requests.storage": "1Ti"}}, {"name": "small", "quota": {"requests.storage": "1Gi"}}]
    given = policy(placement={"machines": machines})
    resolved = resolve(build_job(machine="big", storage={"size": "500Gi"}), {"default": given})
    assert resolved.policy.namespace.quota == {"requests.storage": "500Gi"}
    with pytest.raises(Refused, match="at most 1Gi is allowed"):
        resolve(build_job(machine="small", storage={"size": "2Gi"}), {"default": given})


@pytest.mark.parametrize(
    ("given", "size"), [({"size": "2Gi"}, "2Gi"), ({"size": "2Ti"}, None), ({"size": []}, None), (None, None)]
)
def test_what_a_job_may_not_have_changes_nothing(given: Object | None, size: str | None) -> None:
    """Of a job that is refused, but may be running."""
    job = build_job() if given is None else build_job(storage=given)
    found = apply_size(apply_machine(policy(), None), read_wishes(job)).namespace.quota
    assert (found or {}).get("requests.storage") == size


def test_a_wish_may_be_a_number() -> None:
    assert apply_size(policy(), JobStorage(size=1024)).namespace.quota == {"requests.storage": "1024"}
