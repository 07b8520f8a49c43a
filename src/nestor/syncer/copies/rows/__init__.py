"""A module per kind that the engine carries; each says in `ROWS` which rows it adds."""

from __future__ import annotations

import importlib
import pkgutil

from nestor.syncer.copies.row import Row


def find_rows() -> list[type[Row]]:
    """The rows of all modules of this package: to add one is to add a module."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return [row for module in modules for row in module.ROWS]
