"""Taints that pods tolerate, as kubectl writes taints: `key`, `key=value`, each perhaps with `:Effect`; `*` for all keys."""

from typing import Annotated, Any

from nestor.api.base import checked

Tolerated = Annotated[
    str,
    checked(
        "self.matches('^([*]|[A-Za-z0-9][-A-Za-z0-9_./]*(=[-A-Za-z0-9_.]*)?)(:(NoSchedule|PreferNoSchedule|NoExecute))?$')",
        "must be taints as kubectl writes them: 'gpu', 'pool=batch' or 'pool=batch:NoSchedule'; '*' instead of the key for all; "
        "effects are NoSchedule, PreferNoSchedule and NoExecute",
        400,
    ),
]


def read_toleration(text: str) -> dict[str, Any]:
    name, _, effect = text.partition(":")
    key, has_value, value = name.partition("=")
    found = {"operator": "Equal", "value": value} if has_value else {"operator": "Exists"}
    return ({} if key == "*" else {"key": key}) | found | ({"effect": effect} if effect else {})


def write_tolerated(toleration: dict[str, Any]) -> str:
    """The taints that a toleration of a pod's spec tolerates, for however long."""
    value = "" if toleration.get("operator") == "Exists" else f"={toleration.get('value') or ''}"
    effect = f":{toleration['effect']}" if toleration.get("effect") else ""
    return f"{toleration.get('key') or '*'}{value}{effect}"
