"""Whether its class would take a job, by the operator's own decisions, as far as files can tell. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.clients.cli.offline.appdefs import relocate
from nestor.clients.cli.offline.known import Known
from nestor.operator.admission.admit import Resolved, admit, check_wishes, choose_version
from nestor.operator.admission.app_source import AppSource, find_source
from nestor.operator.admission.checks import check_image
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.guests.queue.entry import find_fault
from nestor.operator.world.ownership import find_home

PATH = "spec.app.appDef"
NOBODY = "00000000-0000-0000-0000-000000000000"
"""A UID, which an object gets only in a cluster."""


def check_admission(content: dict[str, Any], known: Known) -> tuple[list[str], list[str]]:
    """Faults and warnings of a NestedAppJob that is well-formed. Nothing if its class is not known."""
    name, policy = known.find_class(content)
    if policy is None:
        return [], []
    if policy.access == "Permitted" and not content["spec"].get("className"):
        return [
            f"`spec.className` must be set: class '{name}' takes jobs only from those who may use it (`access: Permitted`)"
        ], []
    job = _identify(content, name, policy)
    if job is None:
        return [], []
    try:
        resolved = _admit(job)
        if resolved is None:
            return [], []
        resolved.build_plan("", 0)
    except Refused as refused:
        is_unknown = refused.denial.reason == conditions.PARAMETERS_INVALID and job.spec.parameters_from is not None
        return [] if is_unknown else [relocate(refused.denial.message, PATH)], []
    faults = [route.refusal[1] for route in resolved.routes if route.refusal and route.is_requested]
    return faults, [relocate(item, PATH) for item in resolved.warnings]


def _identify(content: dict[str, Any], class_name: str, policy: NestedClassSpec) -> JobIdentity | None:
    """The job; None if it cannot be read, for a reason that its own check names."""
    try:
        spec = NestedAppJobSpec.model_validate(content["spec"])
    except ValidationError:
        return None
    said = content.get("metadata") or {}
    meta = {"name": str(said.get("name") or "job"), "namespace": str(said.get("namespace") or "default"), "uid": NOBODY}
    return JobIdentity(
        **meta, spec=spec.model_copy(update={"class_name": class_name}), policy=policy, home=find_home({"metadata": meta})
    )


def _admit(job: JobIdentity) -> Resolved | None:
    """The admitted job; None where its AppDef is elsewhere, but nothing that is known is against it. Raises `Refused`."""
    fault = find_fault(job.policy, job.class_name, job.spec.machine)
    if fault is not None:
        raise Refused(*fault)
    source = AppSource() if job.spec.app_ref else find_source(job, ())
    if source.app_def is not None:
        return admit(job, source)
    check_wishes(job)
    check_image(job, source)
    choose_version(job.spec.kubernetes_version, job.class_name, job.policy.cluster)
    return None
