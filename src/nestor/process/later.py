"""Modules that are imported when something of them is first used.

For libraries that others import at their top, and that a process needs late or never. `importlib.util.LazyLoader` does the same,
but in Python 3.11 the second `import` of such a module reads it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_LOCK = threading.RLock()


@contextmanager
def later(names: Collection[str]) -> Iterator[None]:
    """While entered, an import of one of these modules only finds it. `from … import` reads it, unless it names a module."""
    finder = _Finder(frozenset(names))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def is_unread(module: ModuleType) -> bool:
    """Whether nothing of the module was used yet."""
    return isinstance(module, _Unread)


class _Finder:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment] # its base class is in a module that takes long to read
        return spec


class _Loader:
    """Leaves a module unread until something of it is used; then it is that of the module's own loader."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._is_reading = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._real.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        ModuleType.__setattr__(module, "__class__", _Unread)

    def read(self, module: ModuleType) -> None:
        """Import it in earnest. If that fails, the next use tries again."""
        with _LOCK:  # of the other threads, those wait that need what is not there yet
            if self._is_reading or not is_unread(module):
                return
            self._is_reading = True
            try:
                self._real.exec_module(module)
            finally:
                self._is_reading = False
            ModuleType.__setattr__(module, "__class__", ModuleType)


class _Unread(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name != "__path__":  # which a package has; Python asks in order to know whether this is one
            self._read()
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType):  # which Python sets in a package whose submodule it has imported
            self._read()
        ModuleType.__setattr__(self, name, value)

    def _read(self) -> None:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if isinstance(loader, _Loader):
            loader.read(self)
