"""A document → what is wrong with it, by the rules that its kind has in the cluster. Pure."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import Any

from nestor.api import labels
from nestor.api.crd import RESOURCES, Resource, build_crd
from nestor.api.words import VERSION
from nestor.cli.offline import appdefs, metadata, rules, structure
from nestor.cli.offline.admission import check_admission
from nestor.cli.offline.documents import Document
from nestor.cli.offline.faults import Fault
from nestor.cli.offline.known import NOTHING, Known
from nestor.cli.offline.versions import check_version
from nestor.values import dataclass

API_VERSION = f"{labels.GROUP}/{VERSION}"
_BY_KIND = {resource.kind: resource for resource in RESOURCES}


@dataclass(frozen=True)
class Result:
    """What was found in one document."""

    title: str
    """As `NestedAppJob 'hello'`."""
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    skipped: str = ""
    """Why it is not ours to judge."""


def check(document: Document, known: Known = NOTHING, *, is_found: bool = False) -> list[Result]:
    """One result, or one per item of a List. `known`: what the other files tell. `is_found`: the file was found in a folder, and
    may be anything.
    """
    content = document.content
    if is_found and not _is_meant(content):
        return [Result("document", skipped="no resource, because it lacks `apiVersion` or `kind`")]
    if not isinstance(content, dict):
        return [Result("document", [Fault("", "must be a dictionary: a resource with `apiVersion` and `kind`, or an AppDef")])]
    if content.get("kind") == "List" and isinstance(content.get("items"), list):
        return [result for item in content["items"] for result in check(Document(document.number, document.line, item), known)]
    return [check_one(content, known)]


def check_one(content: dict[str, Any], known: Known = NOTHING) -> Result:
    """One resource, or a bare AppDef."""
    kind = content.get("kind")
    if kind is None and ("commands" in content or "appdefversion" in content):
        found = appdefs.check_all(content, "")
        return Result(f"AppDef '{content.get('name') or ''}'", found.faults, found.warnings)
    title = f"{kind} '{_name(content)}'"
    if not isinstance(kind, str) or not isinstance(content.get("apiVersion"), str):
        kinds = ", ".join(_BY_KIND)
        return Result("document", [Fault("", f"must have `apiVersion` and `kind` ({kinds}), or be an AppDef with `commands`")])
    if kind not in _BY_KIND:
        is_ours = content["apiVersion"].partition("/")[0] == labels.GROUP
        fault = [Fault("kind", f"'{kind}' is unknown in {labels.GROUP}; known: {', '.join(_BY_KIND)}")] if is_ours else []
        return Result(title, fault, skipped="" if is_ours else "not a Nestor resource")
    if content["apiVersion"] != API_VERSION:
        return Result(title, [Fault("apiVersion", f"must be '{API_VERSION}', not '{content['apiVersion']}'")])
    return _check_resource(content, _BY_KIND[kind], title, known)


def _check_resource(content: dict[str, Any], resource: Resource, title: str, known: Known) -> Result:
    schema = root_schema(resource.kind)
    # An API server ignores the status of a new object, so it does no harm.
    whole = structure.with_defaults({key: value for key, value in content.items() if key != "status"}, schema)
    faults = list(metadata.check(content, is_namespaced=resource.scope == "Namespaced"))
    spec_faults = [Fault("spec", "must be set")]
    if "spec" in whole:
        spec_faults = list(structure.check(whole["spec"], schema["properties"]["spec"], "spec"))
    faults += spec_faults
    if not faults:
        faults += rules.check(whole, schema, "")
    warnings: list[str] = []
    if not spec_faults:
        found = _check_appdef(whole["spec"], resource.kind)
        faults, warnings = faults + found.faults, found.warnings
        if resource.kind == "NestedAppJob":
            refused, told = check_version(whole, found.version, known)
            faults, warnings = faults + refused, warnings + told
        if resource.kind == "NestedAppJob" and not faults:
            faults, more = check_admission(whole, known)
            warnings += [item for item in more if not any(told.startswith(item) for told in warnings)]
    return Result(title, faults, warnings)


def _check_appdef(spec: dict[str, Any], kind: str) -> appdefs.Findings:
    if kind == "NestedAppJob":
        return appdefs.check_job(spec, "spec.app.appDef")
    if kind == "NestedApp" and spec.get("appDef") is not None:
        return appdefs.check_all(spec["appDef"], "spec.appDef")
    return appdefs.Findings()


@cache
def root_schema(kind: str) -> structure.Schema:
    """The schema of the kind's CRD, the very one that `make crds` writes."""
    schema: structure.Schema = build_crd(_BY_KIND[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _is_meant(content: Any) -> bool:
    """Whether it is a resource, an AppDef, or one of ours that lacks something."""
    if not isinstance(content, dict):
        return False
    kind, version = content.get("kind"), content.get("apiVersion")
    is_ours = (isinstance(kind, str) and kind in _BY_KIND) or str(version).partition("/")[0] == labels.GROUP
    return is_ours or bool(kind and version) or "commands" in content or "appdefversion" in content


def _name(content: dict[str, Any]) -> str:
    meta = content.get("metadata")
    return str((meta.get("name") or meta.get("generateName") or "") if isinstance(meta, dict) else "")
