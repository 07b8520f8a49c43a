"""Reads the keys of one dictionary of an AppDef; faults are collected, not raised."""

import re
from collections.abc import Sequence
from typing import Any

from nestor.api import faults

_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)
_FLAGS = {"true": True, "false": False}


class Fields:
    """A dictionary, its place in the AppDef, and the list that collects its faults.

    A key that is null or blank counts as left out: that is how AppDefs are written. Numbers and booleans may be strings,
    as JARVICE's own examples have them.
    """

    def __init__(self, content: dict[str, Any], where: str, found: list[str]) -> None:
        self._content = content
        self._asked: set[str] = set()
        self.where = where
        self.faults = found

    @property
    def asked(self) -> frozenset[str]:
        """The keys that were read so far, whether they are there or not."""
        return frozenset(self._asked)

    @property
    def unread(self) -> list[str]:
        """The keys that are there and that nobody has read."""
        return [key for key in self._content if key not in self._asked]

    def get(self, key: str) -> Any:
        self._asked.add(key)
        value = self._content.get(key)
        return None if isinstance(value, str) and not value.strip() else value

    def fault(self, key: str, sentence: str) -> None:
        """Add a fault; `sentence` follows the field's name."""
        self.faults.append(f"`{self.where}.{key}` {sentence}")

    def read_count(self, key: str, most: int, *, least: int = 0) -> int | None:
        value = self.get(key)
        if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
            value = int(value)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= most):
            return value
        self.fault(key, f"must be an integer from {least} to {most}, not {faults.show(value)}")
        return None

    def read_counts(self, key: str, most: int, *, least: int = 0) -> tuple[int, ...]:
        """An optional list of integers, at most as many as there are."""
        value = self.get(key)
        if value is None:
            return ()
        if (
            not isinstance(value, list)
            or len(value) > most
            or not all(type(item) is int and least <= item <= most for item in value)
        ):
            self.fault(key, f"must be a list of integers from {least} to {most}, not {faults.show(value)}")
            return ()
        return tuple(sorted(set(value)))

    def read_flag(self, key: str) -> bool | None:
        value = self.get(key)
        if isinstance(value, str):
            value = _FLAGS.get(value.strip().lower(), value)
        if value is None or isinstance(value, bool):
            return value
        self.fault(key, f"must be true or false, not {faults.show(value)}")
        return None

    def read_text(self, key: str, limit: int) -> str | None:
        """An optional string on one line, without blanks around it."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            advice = ": put it in quotes" if isinstance(value, int | float) else ""
            self.fault(key, f"must be a string, not {faults.show(value)}{advice}")
            return None
        if len(value) > limit or not value.isprintable():
            self.fault(key, f"must be at most {limit} printable characters on one line")
            return None
        return value.strip()

    def read_form(self, key: str, form: re.Pattern[str], limit: int, meaning: str) -> str | None:
        """An optional string of a certain form, which `meaning` describes."""
        value = self.read_text(key, limit)
        if value is None or form.fullmatch(value):
            return value
        self.fault(key, f"must be {meaning}, not {faults.show(value)}")
        return None

    def read_choice(self, key: str, allowed: Sequence[str]) -> str | None:
        value = self.get(key)
        if value is None or (isinstance(value, str) and value in allowed):
            return value
        self.fault(key, f"must be {list_words(allowed)}, not {faults.show(value)}")
        return None


def list_words(words: Sequence[str]) -> str:
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
