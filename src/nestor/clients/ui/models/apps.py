"""The catalog as cards, and what its applications can be told. Pure."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nestor.api import conditions
from nestor.api.appdef_models import SPELLINGS
from nestor.api.objects import Object, conditions_of, spec_of, status_of

ICON_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
ICON_BYTES = 512 * 1024
HUES = 6
"""So many colors there are for the letters of applications without an icon."""


@dataclass(frozen=True)
class Command:
    id: str
    title: str
    description: str
    parameters: Any
    """As the AppDef declares them; None if they are not known before the image is read."""


@dataclass(frozen=True)
class App:
    name: str
    title: str
    description: str
    author: str
    path: str
    icon: str
    """Path of its icon; empty if it has none."""
    letter: str
    hue: int
    problem: str
    """Why it cannot be run; empty if it can."""
    commands: tuple[Command, ...]
    machines: tuple[str, ...] = ()
    """Patterns of the machines that it takes; empty for all."""

    @property
    def is_known(self) -> bool:
        """Whether its parameters are known before a job runs."""
        return all(command.parameters is not None for command in self.commands) and bool(self.commands)


def build_apps(found: list[Object]) -> list[App]:
    return sorted((build_app(item) for item in found), key=lambda app: (app.title.lower(), app.name))


def build_app(found: Object) -> App:
    name, spec, status = found["metadata"]["name"], spec_of(found), status_of(found)
    definition = _read_dict(spec, "appDef")
    title = _text(status.get("title") or spec.get("title") or definition.get("name")) or name
    accepted = conditions.find(conditions_of(found), conditions.ACCEPTED) or {}
    path = f"/apps/{quote(name, safe='')}"
    return App(
        name,
        title,
        _text(spec.get("description") or definition.get("description")),
        _text(definition.get("author")),
        path,
        f"{path}/icon" if read_icon(found) else "",
        next((letter for letter in title if letter.isalnum()), "?").upper(),
        sum(title.encode()) % HUES,
        _text(accepted.get("message")) if accepted.get("status") == "False" else "",
        tuple(_list_commands(status, definition)),
        _list_patterns(definition.get("machines")),
    )


def _list_patterns(machines: Any) -> tuple[str, ...]:
    found = [machines] if isinstance(machines, str) else machines if isinstance(machines, list) else []
    return tuple(item for item in found if isinstance(item, str) and item.strip())


def _list_commands(status: Object, definition: Object) -> list[Command]:
    declared = _read_dict(definition, "commands")
    runnable = {
        key: item for key, item in declared.items() if isinstance(item, dict) and any(item.get(part) for part in SPELLINGS)
    }
    told = {str(item.get("id")): item for item in status.get("commands") or ()}
    ids = list(told) or list(runnable)
    return [_build_command(key, told.get(key) or {}, runnable.get(key)) for key in ids]


def _build_command(key: str, told: Object, declared: Object | None) -> Command:
    known = declared or {}
    return Command(
        key,
        _text(told.get("name") or known.get("name")) or key,
        _text(told.get("description") or known.get("description")),
        None if declared is None else known.get("parameters") or {},
    )


def read_icon(found: Object) -> tuple[str, bytes] | None:
    """Media type and content of the icon, if it is a picture that browsers show."""
    icon = _read_dict(_read_dict(spec_of(found), "appDef"), "image")
    kind, data = icon.get("type"), icon.get("data")
    if kind not in ICON_TYPES or not isinstance(data, str) or not data or len(data) > 2 * ICON_BYTES:
        return None
    try:
        content = base64.b64decode(re.sub(r"\s", "", data), validate=True)
    except (binascii.Error, ValueError):
        return None
    return (kind, content) if len(content) <= ICON_BYTES else None


def _read_dict(content: Object, key: str) -> Object:
    """A part of what somebody wrote by hand."""
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value.strip()[:4096] if isinstance(value, str) else ""
