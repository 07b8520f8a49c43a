"""The types of steps, a row each: what an entry of `templates` means. How it is executed: `nestor.apps.runner.types`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nestor.apps.steps import helm, paths, remote, scripts
from nestor.apps.steps.fields import Fields
from nestor.apps.steps.plan import DEFAULT_TIMEOUT_SECONDS, LONG_TIMEOUT_SECONDS, Remote, Step

FORMATS = ("file", "url")
_NAMESPACE_FORM = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_CHECKSUM_FORM = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """One entry of `templates` while it is read."""

    fields: Fields
    name: str
    """The step's, unique in its plan."""
    policy: Remote
    releases: helm.Releases
    """Those that earlier steps install."""


@dataclass(frozen=True)
class StepType:
    """What is particular to the steps of one type."""

    read: Callable[[Entry], dict[str, Any]]
    """The step's content, as fields of `Step`. Faults are collected in the entry's fields."""
    timeout_seconds: int
    """Limit of an attempt where the step sets none."""
    takes: frozenset[str] = frozenset()
    """Which of `SHARED_KEYS` mean something here; the others are refused."""
    is_script: bool = False
    """Whether it runs the user's own program: it sees the parameters' variables, may write files that later steps read, and
    must not be run twice without being told."""
    may_fetch: Callable[[Step], bool] = lambda _: False
    """Whether it may fetch something from elsewhere."""


SHARED_KEYS = frozenset({"format", "namespace", "server_side", "sha256"})
"""Keys that several types have, so that an author may expect them of all."""


def _read_kubectl(entry: Entry) -> dict[str, Any]:
    fields = entry.fields
    form = fields.read_choice("format", FORMATS) or "file"
    if form == "file":
        meaning = "the file's path relative to /templates of the image, or a URL with `format: url`"
        return {"path": _read_path(fields, meaning)} | _read_apply(fields)
    url = fields.read_text("path", remote.URL_LIMIT)
    if url is None:
        if fields.get("path") is None:
            fields.fault("path", "must be set: the URL of the template")
    else:
        fault = remote.find_fault(url, entry.policy)
        if fault is not None:
            fields.fault("path", fault)
    return {"format": form, "path": url, "sha256": _read_checksum(fields)} | _read_apply(fields)


def _read_kustomize(entry: Entry) -> dict[str, Any]:
    meaning = "the folder's path relative to /templates of the image"
    return {"path": _read_path(entry.fields, meaning)} | _read_apply(entry.fields)


def _read_custom(entry: Entry) -> dict[str, Any]:
    codes = entry.fields.read_counts("final_exit_codes", 255, least=1)
    cmd = entry.fields.get("cmd")
    if not isinstance(cmd, str):
        entry.fields.fault("cmd", "must be set: the script in base64, as `base64 -w 0 < script.sh` prints it")
        return {}
    try:
        return {"cmd": scripts.normalize(cmd), "final_exit_codes": codes}
    except scripts.ScriptError as error:
        entry.fields.fault("cmd", str(error))
        return {}


def _read_helm(entry: Entry) -> dict[str, Any]:
    path = _read_path(entry.fields, "the chart") if entry.fields.get("path") is not None else None
    release = helm.read(entry.fields, entry.name, entry.policy, entry.releases)
    return {"path": path, "helm": release, "namespace": _read_namespace(entry.fields)}


def _read_path(fields: Fields, meaning: str) -> str | None:
    path = fields.get("path")
    if path is None:
        fields.fault("path", f"must be set: {meaning}")
        return None
    if not isinstance(path, str):
        fields.fault("path", "must be a string")
        return None
    fault = paths.find_fault(path)
    if fault is None:
        return path
    fields.fault("path", fault)
    return None


def _read_apply(fields: Fields) -> dict[str, Any]:
    """The options of every `kubectl apply`."""
    return {"namespace": _read_namespace(fields), "server_side": bool(fields.read_flag("server_side"))}


def _read_namespace(fields: Fields) -> str | None:
    return fields.read_form(
        "namespace", _NAMESPACE_FORM, 63, "a namespace's name of lower-case letters, digits and '-', at most 63"
    )


def _read_checksum(fields: Fields) -> str | None:
    checksum = fields.read_text("sha256", 80)
    if checksum is None:
        return None
    plain = checksum.lower().removeprefix("sha256:")
    if not _CHECKSUM_FORM.fullmatch(plain):
        fields.fault("sha256", "must be a SHA-256 checksum of 64 hexadecimal digits, as `sha256sum` prints it")
    return plain


TYPES = {
    "kubectl": StepType(_read_kubectl, DEFAULT_TIMEOUT_SECONDS, takes=SHARED_KEYS, may_fetch=lambda step: step.format == "url"),
    # A kustomization may name bases that are elsewhere; which ones, only the runner sees.
    "kustomize": StepType(
        _read_kustomize, DEFAULT_TIMEOUT_SECONDS, takes=frozenset({"namespace", "server_side"}), may_fetch=lambda _: True
    ),
    "custom": StepType(_read_custom, LONG_TIMEOUT_SECONDS, is_script=True),
    "helm": StepType(
        _read_helm,
        LONG_TIMEOUT_SECONDS,
        takes=frozenset({"namespace"}),
        may_fetch=lambda step: bool(step.helm and step.helm.chart),
    ),
}
