"""Whose jobs a class takes, for how long they may run, from which image they come, and what volumes they get."""

from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.allowances import JobStorage, Storage
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.words import Access
from nestor.operator.admission.checks import apply_size, check_app, check_class, read_wishes, resolve_storage
from nestor.operator.admission.identity import Refused
from nestor.operator.admission.placement import apply_machine
from tests.unit.operator.builders import Object, build_app, build_job, build_policy, build_spec, deny, resolve

JOB_TIME = "2026-01-01T00:00:00Z"
"""When `build_job` says that the job was created."""


def build_class(created: str) -> Object:
    """A class as the cache has it."""
    return {"metadata": {"name": "gold", "creationTimestamp": created}}


@pytest.mark.parametrize(
    ("access", "spec", "created", "refusal"),
    [
        ("Everyone", {"className": "gold"}, "2026-02-01T00:00:00Z", None),
        ("Everyone", {"className": None}, "2025-01-01T00:00:00Z", None),
        ("Permitted", {"className": "gold"}, "2025-12-31T23:59:59Z", None),
        ("Permitted", {"className": "gold"}, JOB_TIME, "is not older than this object, so your permission was not checked"),
        ("Permitted", {"className": "gold"}, "2026-02-01T00:00:00Z", "takes the verb `use` on nestedclasses 'gold'"),
        ("Permitted", {"className": None}, "2025-01-01T00:00:00Z", "create it again with `className: gold`"),
    ],
)
def test_whose_jobs_a_class_takes(access: Access, spec: Object, created: str, refusal: str | None) -> None:
    if refusal is None:
        check_class(build_job(**spec), build_class(created), access)
        return
    with pytest.raises(Refused, match=refusal) as refused:
        check_class(build_job(**spec), build_class(created), access)
    assert refused.value.denial.reason == conditions.CLASS_NOT_PERMITTED


def test_an_entry_of_the_catalog_must_be_older_than_the_job() -> None:
    job = build_job(app=None, appRef={"name": "shop"})
    entry = build_app("shop", access="Permitted")
    for created, is_refused in (("2025-01-01T00:00:00Z", False), (JOB_TIME, True)):
        item = entry | {"metadata": entry["metadata"] | {"creationTimestamp": created}}
        if is_refused:
            with pytest.raises(Refused, match="NestedApp 'shop' takes jobs only from those who may use it"):
                check_app(job, item)
        else:
            check_app(job, item)
    check_app(job, build_app("shop"))
    check_app(job, None)


@pytest.mark.parametrize(("most", "wanted"), [(None, None), (None, 99), (60, None), (60, 60), (60, 30)])
def test_a_jobs_own_deadline_stays_what_it_is(most: int | None, wanted: int | None) -> None:
    job, policy = build_job(activeDeadlineSeconds=wanted), build_policy(maxActiveDeadlineSeconds=most)
    assert resolve(job, {"default": policy}).spec.active_deadline_seconds == wanted


def test_a_longer_deadline_than_the_classs_is_refused() -> None:
    job, policy = build_job(activeDeadlineSeconds=61), build_policy(maxActiveDeadlineSeconds=60)
    found = deny(job, policy)
    assert found.reason == conditions.DEADLINE_NOT_ALLOWED
    assert found.message == (
        "`spec.activeDeadlineSeconds` may not be 61: at most 60 is allowed (class 'default', `maxActiveDeadlineSeconds`)"
    )


def test_an_app_image_must_be_allowed_when_the_job_starts() -> None:
    policy = build_policy(images={"allowed": ["registry.example.com", "docker.io/library"]})
    found = deny(build_job(), policy)
    assert found.reason == conditions.IMAGE_NOT_ALLOWED
    assert found.message == (
        "app image 'registry.test/hello:1' is not allowed; allowed: docker.io/library, registry.example.com (`images.allowed`) "
        "(class 'default')"
    )
    running: Object = {"metadata": {}, "spec": {}}
    assert resolve(build_job(), {"default": policy}, running).app.image == "registry.test/hello:1"
    allowed = build_policy(images={"allowed": ["registry.test"]})
    assert resolve(build_job(), {"default": allowed}).app.image == "registry.test/hello:1"


CLASS: Object = {"classes": ["fast", "slow"], "retention": "Retain"}


def policy(storage: Object | None = CLASS, **spec: Any) -> NestedClassSpec:
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
    found = resolve_storage(policy(storage), build_spec(**({"storage": wish} if wish else {})))
    assert found is not None
    assert type(found) is Storage
    assert (sorted(found.classes), found.default) == (storage["classes"], default)


def test_a_class_that_says_nothing_comes_to_nothing() -> None:
    assert resolve_storage(policy(None), build_spec(storage={"className": "fast"})) is None
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
    found = deny(build_job(storage=wish), policy(storage, namespace={"quota": quota}))
    assert (found.reason, found.message) == (conditions.STORAGE_NOT_ALLOWED, f"{message} (class 'default')")


@pytest.mark.parametrize(
    ("vaults", "storage", "reason", "message"),
    [
        (["slow", "fast"], CLASS, None, ""),
        (["fast", "OBJECT"], CLASS, None, ""),
        (["slow", "home"], CLASS, conditions.STORAGE_NOT_ALLOWED, "StorageClass 'home': the class allows 'fast', 'slow'"),
        ("home", None, conditions.STORAGE_NOT_ALLOWED, "StorageClass 'home': the class allows none"),
        (["FILE"], CLASS, None, ""),
        (["block", "OBJECT"], CLASS, None, ""),
        ("BLOCK", None, "", "('BLOCK'): class 'default' has no such storage"),
        (["OBJECT"], CLASS, "", "('OBJECT'): class 'default' has no such storage"),
        # The tutorial's, and more kinds of JARVICE's.
        (["FILE", "BLOCK", "BLOCK_ARRAY", "OBJECT", "NEWER"], None, None, ""),
        (["NONE"], None, None, ""),
        ([""], None, None, ""),
        (None, None, None, ""),
    ],
)
def test_an_application_is_told_of_storage_that_the_class_does_not_have(
    vaults: object, storage: Object | None, reason: str | None, message: str
) -> None:
    """`reason`: of the refusal; empty if there is a warning only."""
    job = build_job()
    job["spec"]["app"]["appDef"]["vault-types"] = vaults
    if reason:
        found = deny(job, policy(storage))
        assert (found.reason, message in found.message) == (reason, True)
        return
    told = [item for item in resolve(job, {"default": policy(storage)}).warnings if "vault-types" in item]
    assert [message in item for item in told] == [True] * (reason is not None)


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
    # The application's choice counts, and not the machine that the class would have given the job.
    given = policy(placement={"machines": machines, "defaultMachine": "small"})
    job = build_job(storage={"size": "500Gi"})
    job["spec"]["app"]["appDef"]["machines"] = ["big"]
    assert resolve(job, {"default": given}).policy.namespace.quota == {"requests.storage": "500Gi"}


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
