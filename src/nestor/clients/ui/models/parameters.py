"""What a job was given, without passwords. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestor.api.objects import Object, spec_of, status_of
from nestor.clients.ui.models.inputs import is_secret

HIDDEN = "••••••"


def list_parameters(job: Object) -> list[tuple[str, str]]:
    """What it was given, by name; without passwords."""
    given: Mapping[str, Any] = spec_of(job).get("parameters") or {}
    declared = _find_declared(job)
    found = [(name, HIDDEN if is_secret(name, _type_of(declared, name)) else _show(value)) for name, value in given.items()]
    secret = ((spec_of(job).get("parametersFrom") or {}).get("secretRef") or {}).get("name")
    return found + ([("further values", f"from Secret '{secret}', not shown")] if secret else [])


def _type_of(declared: Any, name: str) -> Any:
    found = declared.get(name) if isinstance(declared, dict) else None
    return found.get("type") if isinstance(found, dict) else None


def _find_declared(job: Object) -> Any:
    spec = spec_of(job)
    commands = ((spec.get("app") or {}).get("appDef") or {}).get("commands")
    chosen = status_of(job).get("command") or spec.get("command")
    command = commands.get(chosen) if isinstance(commands, dict) else None
    return command.get("parameters") if isinstance(command, dict) else None


def _show(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 300 else text[:299] + "…"
