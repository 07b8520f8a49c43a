"""A document → what is wrong with it, by the rules that its kind has in the cluster. Pure."""

from dataclasses import dataclass, field
from typing import Any

from nestor.api import labels
from nestor.api.faults import find_fault
from nestor.clients.cli.offline import admission, rules
from nestor.clients.cli.offline.admission import NOTHING, Known, check_admission
from nestor.clients.cli.offline.documents import Document, list_items
from nestor.clients.cli.offline.rules import BY_KIND, root_schema
from nestor.kube import kinds

API_VERSION = kinds.NESTED_APP_JOB.api_version


@dataclass(frozen=True)
class Result:
    title: str
    """As `NestedAppJob 'hello'`."""
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    skipped: str = ""
    """Why it is not ours to judge."""


def check(document: Document, known: Known = NOTHING, *, is_found: bool = False) -> list[Result]:
    """One result, or one per item of a List. `known`: what the other files tell. `is_found`: the file was found in a folder, and
    may be anything.
    """
    if is_found and not _is_meant(document.content):
        return [Result("document", skipped="no resource, because it lacks `apiVersion` or `kind`")]
    return [check_one(item, known) for item in list_items(document.content)]


def check_one(content: Any, known: Known = NOTHING) -> Result:
    if not isinstance(content, dict):
        return Result("document", ["must be a dictionary: a resource with `apiVersion` and `kind`, or an AppDef"])
    kind = content.get("kind")
    if kind is None and ("commands" in content or "appdefversion" in content):
        return Result(f"AppDef '{content.get('name') or ''}'", *admission.check_appdef(content, ""))
    title = f"{kind} '{_name(content)}'"
    if not isinstance(kind, str) or not isinstance(content.get("apiVersion"), str):
        kinds = ", ".join(BY_KIND)
        return Result("document", [f"must have `apiVersion` and `kind` ({kinds}), or be an AppDef with `commands`"])
    if kind not in BY_KIND:
        is_ours = content["apiVersion"].partition("/")[0] == labels.GROUP
        fault = [f"`kind`: '{kind}' is unknown in {labels.GROUP}; known: {', '.join(BY_KIND)}"] if is_ours else []
        return Result(title, fault, skipped="" if is_ours else "not a Nestor resource")
    if content["apiVersion"] != API_VERSION:
        return Result(title, [f"`apiVersion` must be '{API_VERSION}', not '{content['apiVersion']}'"])
    return _check_resource(content, title, known)


def _check_resource(content: dict[str, Any], title: str, known: Known) -> Result:
    if fault := find_fault(content, content["kind"]):
        return Result(title, [fault])
    schema = root_schema(content["kind"])
    # An API server ignores the status of a new object, so it does no harm.
    whole = rules.with_defaults({key: value for key, value in _name_by_prefix(content).items() if key != "status"}, schema)
    if found := rules.check_model(whole):
        return Result(title, found)
    faults, warnings = _check_appdef(content["spec"], content["kind"])
    faults = [*rules.check_rules(whole, schema, ""), *faults]
    if content["kind"] == "NestedAppJob" and not faults:
        faults, more = check_admission(whole, known)
        warnings += [item for item in more if item not in warnings]
    return Result(title, faults, warnings)


def _name_by_prefix(content: dict[str, Any]) -> dict[str, Any]:
    """With a name of the length that an API server gives an object by its `generateName`."""
    meta = content.get("metadata")
    if not isinstance(meta, dict) or meta.get("name") or not isinstance(prefix := meta.get("generateName"), str):
        return content
    return content | {"metadata": meta | {"name": f"{prefix[:58]}xxxxx"}}


def _check_appdef(spec: dict[str, Any], kind: str) -> admission.Findings:
    is_job = kind == "NestedAppJob"
    content = (spec.get("app") or {}).get("appDef") if is_job else spec.get("appDef") if kind == "NestedApp" else None
    if content is None:
        return [], []
    return admission.check_appdef(content, "spec.app.appDef" if is_job else "spec.appDef", spec if is_job else None)


def _is_meant(content: Any) -> bool:
    """Whether it is a resource, an AppDef, or one of ours that lacks something."""
    if not isinstance(content, dict):
        return False
    kind, version = content.get("kind"), content.get("apiVersion")
    is_ours = (isinstance(kind, str) and kind in BY_KIND) or str(version).partition("/")[0] == labels.GROUP
    return is_ours or bool(kind and version) or "commands" in content or "appdefversion" in content


def _name(content: dict[str, Any]) -> str:
    meta = content.get("metadata")
    return str((meta.get("name") or meta.get("generateName") or "") if isinstance(meta, dict) else "")
