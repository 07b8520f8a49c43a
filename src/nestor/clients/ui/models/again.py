"""The form for a new job, filled with what another one was given. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nestor.api.objects import Object, spec_of, status_of
from nestor.clients.ui.models import inputs
from nestor.clients.ui.models.launch import UNITS, Form

_FORM = {
    *("app", "appRef", "command", "parameters", "parametersFrom"),
    *("className", "machine", "activeDeadlineSeconds", "suspend"),
}
"""What the form itself sets of a job."""


@dataclass(frozen=True)
class Again:
    form: Form
    entered: dict[str, list[str]]
    free: str
    kept: Object
    """Settings that the form has no field for."""
    missing: Sequence[str]
    """What the new job does not get."""


def find_command(job: Object) -> str:
    return str(spec_of(job).get("command") or status_of(job).get("command") or "")


def take_over(job: Object, declared: Any, name: str, command: str) -> Again:
    """`declared`: the parameters of the command, or None if they are not known. Passwords stay where they are."""
    spec, status, kept = spec_of(job), status_of(job), list_kept(spec_of(job))
    given, known, missing = spec.get("parameters") or {}, declared if isinstance(declared, dict) else {}, []
    shown = {
        key: value
        for key, value in given.items()
        if (declared is None or key in known) and not inputs.is_secret(key, inputs.type_of(known, key))
    }
    entered = {key: inputs.list_texts(shown.get(key, inputs.default_of(known, key))) for key in known}
    missing += [f"parameter '{key}'" for key in given if key not in shown]
    if secret := ((spec.get("parametersFrom") or {}).get("secretRef") or {}).get("name"):
        missing.append(f"the parameters in Secret '{secret}'")
    if host := (kept.get("expose") or {}).get("host"):
        kept["expose"] = {key: value for key, value in kept["expose"].items() if key != "host"}
        missing.append(f"host '{host}'")
    class_name, machine = (str(spec.get(key) or status.get(key) or "") for key in ("className", "machine"))
    limit, unit = _find_limit(spec.get("activeDeadlineSeconds"))
    form = Form(name, job["metadata"]["namespace"], f"{class_name}:{machine}" if class_name else "", command, limit, unit)
    lines = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in shown.items()]
    return Again(form, entered, "\n".join(lines), kept, missing)


def list_kept(spec: Object) -> Object:
    """Of a spec, what the form has no field for."""
    return {key: value for key, value in spec.items() if key not in _FORM}


def _find_limit(seconds: int | None) -> tuple[str, str]:
    """As a number of the largest unit of which it is a whole one."""
    if not seconds:
        return "", "hours"
    unit = next((name for name, size in reversed(UNITS.items()) if seconds % size == 0), "minutes")
    return f"{seconds / UNITS[unit]:.10g}", unit
