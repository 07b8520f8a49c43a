"""The Secrets that a backend names: read at the start, and looked at again from time to time."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterable

from nestor.api.model import SecretKey
from nestor.kube import Api, NotFound, kinds
from nestor.kube.errors import ApiError
from nestor.overflow.vnode.restart import Restart

LOOK_SECONDS = 30.0


class MissingSecret(Exception):
    """A Secret, or a key of it, is not there. The text names it."""


class Secrets:
    """Secrets of the operator's namespace, by name. What was read with `current` may change; the rest begins a new process."""

    def __init__(self, api: Api, namespace: str, names: Iterable[str]) -> None:
        self._api = api
        self._namespace = namespace
        self._names = tuple(names)
        self._data: dict[str, dict[str, str]] = {}
        self._used: set[tuple[str, str]] = set()

    async def load(self) -> None:
        """Read all of them. Raises `ApiError`; one that is missing has no keys."""
        for name in self._names:
            try:
                found = await self._api.get(kinds.SECRET, name, self._namespace)
                self._data[name] = found.get("data") or {}
            except NotFound:
                self._data[name] = {}

    async def watch(self) -> None:
        """Keep them up to date until cancelled. Raises `Restart`."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            before = {key: self._data.get(key[0], {}).get(key[1]) for key in self._used}
            try:
                await self.load()
            except ApiError:
                continue
            for (name, key), value in before.items():
                if self._data.get(name, {}).get(key) != value:
                    raise Restart(f"Secret '{name}' has changed")

    def read(self, name: str, key: str) -> str:
        """The value that this process is set up with. Raises `MissingSecret`."""
        self._used.add((name, key))
        return self.current(name, key)

    def current(self, name: str, key: str) -> str:
        """The value as it is now. Raises `MissingSecret`."""
        text = self._data.get(name, {}).get(key)
        if text is None:
            raise MissingSecret(f"key '{key}' of Secret '{name}'")
        try:
            return base64.b64decode(text).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise MissingSecret(f"key '{key}' of Secret '{name}' is no text") from None

    def read_ref(self, ref: SecretKey | None) -> str:
        """The same as `read`; empty if there is no reference."""
        return self.read(ref.name, ref.key) if ref is not None else ""
