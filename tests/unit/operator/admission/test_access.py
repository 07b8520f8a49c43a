"""Whose jobs a class takes: what the API server cannot have asked about is refused here."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from nestor.api.words import Access
from nestor.operator.admission.checks import check_app, check_class
from nestor.operator.admission.identity import Refused
from tests.unit.operator.builders import Object, build_app, build_job

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
