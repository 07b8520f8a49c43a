"""Writes the datastore of a new cluster from the seed of its version, with UIDs and dates of its own."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from nestor.api.contracts.syncer import SEED_FILE
from nestor.api.times import timestamp

UID, NOW = "<uid>", "<now>"

_TABLE = (
    "CREATE TABLE kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER, "
    "create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)"
)
"""As kine 0.16 has it, which adds its indexes itself (k3s-io/kine, pkg/drivers/sqlite)."""
_ROW = "INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value) VALUES (?, 1, 0, 0, 0, 0, ?)"


def plant(version: str, target: Path = Path(SEED_FILE)) -> None:
    """Write the datastore of a new cluster of this version, unless it is there. It appears whole."""
    if target.exists():
        return
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as database:
        database.execute(_TABLE)
        database.execute("BEGIN")
        database.executemany(_ROW, _read(version))
        database.execute("COMMIT")
    os.replace(part, target)


def _read(version: str) -> Iterator[tuple[str, bytes]]:
    date = timestamp()
    for line in (Path(__file__).parent / f"{version}.txt").read_text().splitlines():
        key, value = line.split(" ", 1)
        yield key, value.replace(UID, str(uuid4())).replace(NOW, date).encode()
