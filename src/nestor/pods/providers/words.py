"""Texts of backends, made fit for people and for API servers."""

from __future__ import annotations

import re
from collections.abc import Iterable

MESSAGE_LIMIT = 1024
"""Characters of an error's text that users get to see."""

_NAME_LIMIT = 100
_SHORTEST_SECRET = 6


def cut(text: object, limit: int = MESSAGE_LIMIT) -> str:
    """`text` without control characters and the like, and no longer than `limit`."""
    printable = (char if char.isprintable() or char in "\n\t" else "\0" for char in str(text)[: limit * 2])
    clean = re.sub("\0+", " ", "".join(printable)).strip()
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def cut_name(text: str) -> str:
    """The beginning of what should be a name, in one line."""
    return " ".join(cut(text, _NAME_LIMIT).split())


def hide(text: str, secrets: Iterable[str]) -> str:
    """`text` with our credentials masked: a server may repeat what it was sent."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text
