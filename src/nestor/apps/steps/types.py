"""The types of steps, a row each: what an entry of `templates` means. How it is executed: `nestor.apps.runner.types`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from nestor.api.appdef_keys import UnknownKey
from nestor.apps.steps import helm, sources
from nestor.apps.steps.fields import Fields, list_words
from nestor.apps.steps.plan import (
    DEFAULT_RETRY,
    DEFAULT_RETRY_SLEEP_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    LONG_TIMEOUT_SECONDS,
    Remote,
    Step,
)

FORMATS = ("file", "url")
COUNT_LIMIT = 10_000
SECONDS_LIMIT = 86_400
_NAMESPACE_FORM = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_CHECKSUM_FORM = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
SHARED_KEYS = frozenset({"format", "namespace", "server_side", "sha256"})
"""Keys that several types have, so that an author may expect them of all."""


@dataclass
class Reading:
    """State that the steps of one plan share while they are read."""

    remote: Remote
    faults: list[str] = field(default_factory=list)
    settings: Fields | None = None
    entries: list[Fields] = field(default_factory=list)
    """The steps, as they are written."""
    retry: int = DEFAULT_RETRY
    retry_sleep: int = DEFAULT_RETRY_SLEEP_SECONDS
    render: bool = False
    names: set[str] = field(default_factory=set)
    releases: helm.Releases = field(default_factory=dict)


@dataclass(frozen=True)
class StepType:
    """What is particular to the steps of one type."""

    read: Callable[[Fields, str, Reading], dict[str, Any]]
    """From an entry and the step's name to its content, as fields of `Step`. Faults are collected in the entry."""
    timeout_seconds: int
    """Limit of an attempt where the step sets none."""
    takes: frozenset[str] = frozenset()
    """Which of `SHARED_KEYS` mean something here; the others are refused."""
    is_script: bool = False
    """Whether it runs the user's own program: it sees the parameters' variables, may write files that later steps read, and
    must not be run twice without being told."""
    may_fetch: Callable[[Step], bool] = lambda _: False
    """Whether it may fetch something from elsewhere."""


def _read_kubectl(fields: Fields, _name: str, reading: Reading) -> dict[str, Any]:
    form = fields.read_choice("format", FORMATS) or "file"
    if form == "file":
        meaning = "the file's path relative to /templates of the image, or a URL with `format: url`"
        return {"path": _read_path(fields, meaning)} | _read_apply(fields)
    url = fields.read_text("path", sources.URL_LIMIT)
    if url is None:
        if fields.get("path") is None:
            fields.fault("path", "must be set: the URL of the template")
    else:
        fault = sources.find_url_fault(url, reading.remote)
        if fault is not None:
            fields.fault("path", fault)
    return {"format": form, "path": url, "sha256": _read_checksum(fields)} | _read_apply(fields)


def _read_kustomize(fields: Fields, _name: str, _reading: Reading) -> dict[str, Any]:
    return {"path": _read_path(fields, "the folder's path relative to /templates of the image")} | _read_apply(fields)


def _read_custom(fields: Fields, _name: str, _reading: Reading) -> dict[str, Any]:
    codes = fields.read_counts("final_exit_codes", 255, least=1)
    cmd = fields.get("cmd")
    if not isinstance(cmd, str):
        fields.fault("cmd", "must be set: the script in base64, as `base64 -w 0 < script.sh` prints it")
        return {}
    try:
        return {"cmd": sources.normalize_script(cmd), "final_exit_codes": codes}
    except sources.ScriptError as error:
        fields.fault("cmd", str(error))
        return {}


def _read_helm(fields: Fields, name: str, reading: Reading) -> dict[str, Any]:
    path = _read_path(fields, "the chart") if fields.get("path") is not None else None
    release = helm.read(fields, name, reading.remote, reading.releases)
    return {"path": path, "helm": release, "namespace": _read_namespace(fields)}


def _read_path(fields: Fields, meaning: str) -> str | None:
    path = fields.get("path")
    if path is None:
        fault: str | None = f"must be set: {meaning}"
    else:
        fault = sources.find_path_fault(path) if isinstance(path, str) else "must be a string"
    if fault is None:
        return str(path)
    fields.fault("path", fault)
    return None


def _read_apply(fields: Fields) -> dict[str, Any]:
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


def read_step(fields: Fields, name: str, reading: Reading) -> Step | None:
    """The step, with the default for each setting that it leaves out; None if it has faults."""
    before = len(fields.faults)
    kind = fields.read_choice("type", tuple(TYPES))
    if kind is None and fields.get("type") is None:
        fields.fault("type", f"must be set: {list_words(tuple(TYPES))}")
    row = TYPES.get(kind or "")
    common = _read_common(fields, reading)
    if row is None:
        return None
    content = row.read(fields, name, reading)
    _refuse_misplaced(fields, kind or "", row)
    if len(fields.faults) > before:
        return None
    return Step.model_validate({"name": name, "type": kind, "timeout_seconds": row.timeout_seconds} | content | common)


def find_unknown(fields: Fields, where: str) -> list[UnknownKey]:
    """The keys of an entry that `read` has not asked for. A type that is unknown says nothing about them."""
    kind = fields.get("type")
    elsewhere = frozenset().union(*map(_list_type_keys, TYPES))
    known = fields.asked if isinstance(kind, str) and kind in TYPES else elsewhere
    found = []
    for key in fields.unread:
        if key not in known:
            note = f"has no effect for type '{kind}'" if key in elsewhere else ""
            found.append(UnknownKey(where, key, known, note))
    return found


@cache
def _list_type_keys(kind: str) -> frozenset[str]:
    """The keys that steps of a type may have: those that are asked for where there are none."""
    fields = Fields({"type": kind}, "", [])
    read_step(fields, "", Reading(Remote()))
    return fields.asked


def _read_common(fields: Fields, reading: Reading) -> dict[str, int]:
    retry, sleep = fields.read_count("retry", COUNT_LIMIT), fields.read_count("retry_sleep", SECONDS_LIMIT)
    timeout = fields.read_count("timeout_seconds", SECONDS_LIMIT, least=1)
    render = fields.read_flag("render")
    return {
        "render": reading.render if render is None else render,
        "retry": reading.retry if retry is None else retry,
        "retry_sleep_seconds": reading.retry_sleep if sleep is None else sleep,
    } | ({"timeout_seconds": timeout} if timeout else {})


def _refuse_misplaced(fields: Fields, kind: str, row: StepType) -> None:
    """Keys that mean something elsewhere and would do nothing here: their author counts on them."""
    if "format" not in row.takes and fields.get("format") not in (None, "file"):
        fields.fault("format", f"may be 'url' only for {_name_types('format')}")
    if "server_side" not in row.takes and fields.read_flag("server_side"):
        fields.fault("server_side", f"may be set only for {_name_types('server_side')}")
    if "namespace" not in row.takes and fields.get("namespace") is not None:
        why = ": the script passes it to the tools that it calls" if row.is_script else ""
        fields.fault("namespace", f"may not be set for type '{kind}'{why}")
    if fields.get("sha256") is not None and not ("sha256" in row.takes and fields.get("format") == "url"):
        fields.fault("sha256", "may be set only together with `format: url`: files of the image need no checksum")


def _name_types(key: str) -> str:
    """The types that take a shared key, as the end of a sentence."""
    words = [f"'{name}'" for name, row in TYPES.items() if key in row.takes]
    return f"type {words[0]}" if len(words) == 1 else f"types {', '.join(words[:-1])} and {words[-1]}"
