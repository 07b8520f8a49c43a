"""Texts of backends, made fit for people and for API servers."""

from __future__ import annotations

import re
from collections.abc import Iterable

MESSAGE_LIMIT = 1024
"""Characters of an error's text that users get to see."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SHORTEST_SECRET = 6


def cut(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text` without control characters, and no longer than `limit`."""
    clean = _CONTROL.sub(" ", text[: limit * 2]).strip()
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def hide(text: str, secrets: Iterable[str]) -> str:
    """`text` with our credentials masked: a server may repeat what it was sent."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text
