"""One entry of `templates` → one step of the plan, by its type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from nestor.steps import helm, paths, remote, scripts
from nestor.steps.fields import Fields, list_words
from nestor.steps.plan import DEFAULT_TIMEOUT_SECONDS, LONG_TIMEOUT_SECONDS, Remote, Step

TYPES = ("kubectl", "kustomize", "custom", "helm")
FORMATS = ("file", "url")
COUNT_LIMIT = 10_000
SECONDS_LIMIT = 86_400
_NAMESPACE_FORM = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_CHECKSUM_FORM = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_TIMEOUTS = {"kubectl": DEFAULT_TIMEOUT_SECONDS, "kustomize": DEFAULT_TIMEOUT_SECONDS}
_WHERE = {
    "kubectl": "the file's path relative to /templates of the image, or a URL with `format: url`",
    "kustomize": "the folder's path relative to /templates of the image",
}


@dataclass(frozen=True)
class Defaults:
    """What holds for a step that does not say otherwise."""

    retry: int
    retry_sleep: int
    render: bool


def read(fields: Fields, name: str, defaults: Defaults, policy: Remote, releases: helm.Releases) -> Step | None:
    """The step with its own retry rules where it has some, each of the two on its own; None where it has faults."""
    before = len(fields.faults)
    kind = fields.read_choice("type", TYPES)
    if kind is None and fields.get("type") is None:
        fields.fault("type", f"must be set: {list_words(TYPES)}")
    limits = _read_limits(fields, defaults, _TIMEOUTS.get(kind or "", LONG_TIMEOUT_SECONDS))
    render = fields.read_flag("render")
    content: dict[str, Any] = {"render": defaults.render if render is None else render}
    if kind == "kubectl":
        content |= _read_kubectl(fields, policy)
    elif kind == "kustomize":
        content |= {"path": _read_path(fields, kind)} | _read_apply(fields)
    elif kind == "custom":
        content |= {"cmd": _read_script(fields)}
    elif kind == "helm":
        path = _read_path(fields, kind) if fields.get("path") is not None else None
        content |= {"path": path, "helm": helm.read(fields, name, policy, releases), "namespace": _read_namespace(fields)}
    _refuse_misplaced(fields, kind)
    if kind is None or len(fields.faults) > before:
        return None
    return Step.model_validate({"name": name, "type": kind} | content | limits)


def _read_limits(fields: Fields, defaults: Defaults, timeout: int) -> dict[str, int]:
    retry, sleep = fields.read_count("retry", COUNT_LIMIT), fields.read_count("retry_sleep", SECONDS_LIMIT)
    return {
        "retry": defaults.retry if retry is None else retry,
        "retry_sleep_seconds": defaults.retry_sleep if sleep is None else sleep,
        "timeout_seconds": fields.read_count("timeout_seconds", SECONDS_LIMIT, least=1) or timeout,
    }


def _read_kubectl(fields: Fields, policy: Remote) -> dict[str, Any]:
    form = fields.read_choice("format", FORMATS) or "file"
    if form == "file":
        return {"path": _read_path(fields, "kubectl")} | _read_apply(fields)
    url = fields.read_text("path", remote.URL_LIMIT)
    if url is None:
        if fields.get("path") is None:
            fields.fault("path", "must be set: the URL of the template")
    else:
        fault = remote.find_fault(url, policy)
        if fault is not None:
            fields.fault("path", fault)
    return {"format": form, "path": url, "sha256": _read_checksum(fields)} | _read_apply(fields)


def _read_path(fields: Fields, kind: str) -> str | None:
    path = fields.get("path")
    if path is None:
        fields.fault("path", f"must be set: {_WHERE[kind]}")
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
    """What both kinds of `kubectl apply` know."""
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


def _read_script(fields: Fields) -> str | None:
    cmd = fields.get("cmd")
    if not isinstance(cmd, str):
        fields.fault("cmd", "must be set: the script in base64, as `base64 -w 0 < script.sh` prints it")
        return None
    try:
        return scripts.normalize(cmd)
    except scripts.ScriptError as error:
        fields.fault("cmd", str(error))
        return None


def _refuse_misplaced(fields: Fields, kind: str | None) -> None:
    """Keys that mean something, and would do nothing here: their author counts on them."""
    if kind in ("kustomize", "custom", "helm") and fields.get("format") not in (None, "file"):
        fields.fault("format", "may be 'url' only for type 'kubectl'")
    if kind in ("custom", "helm") and fields.read_flag("server_side"):
        fields.fault("server_side", "may be set only for types 'kubectl' and 'kustomize'")
    if kind == "custom" and fields.get("namespace") is not None:
        fields.fault("namespace", "may not be set for type 'custom': the script says it to the tools that it calls")
    if fields.get("sha256") is not None and kind is not None and not (kind == "kubectl" and fields.get("format") == "url"):
        fields.fault("sha256", "may be set only together with `format: url`: files of the image are what they are")
