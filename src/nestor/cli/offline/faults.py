"""One thing that is wrong with a document: where, and what is allowed instead."""

from __future__ import annotations

from nestor.values import dataclass


@dataclass(frozen=True)
class Fault:
    """`field` is a path as `spec.app.image`, empty for the whole document; `message` goes on after it."""

    field: str
    message: str

    def __str__(self) -> str:
        if not self.field:
            return self.message
        is_predicate = self.message.split(" ", 1)[0] in ("must", "may", "has", "is")
        return f"`{self.field}`{'' if is_predicate else ':'} {self.message}"


def child(path: str, key: str | int) -> str:
    """The path of a key, or of an item of a list."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    plain = key.replace("_", "").replace("-", "").isalnum()
    if not plain:
        return f"{path}[{key!r}]"
    return f"{path}.{key}" if path else key


def show(value: object) -> str:
    """A value in a message, short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
