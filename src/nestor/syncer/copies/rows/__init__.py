"""One module per kind of synced object; each lists its rows in `ROWS`."""

import importlib
import pkgutil

from nestor.syncer.copies.row import Row


def find_rows() -> list[type[Row]]:
    """The rows of all modules in this package. A new module is found by itself."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return [row for module in modules for row in module.ROWS]
