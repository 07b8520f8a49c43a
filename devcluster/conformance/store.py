"""Where results are kept: in the cache as they come, and in the repository's docs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from devcluster.build.cache import REPOSITORY, Cache
from devcluster.conformance import results, tables
from devcluster.conformance.results import Result

Object = dict[str, Any]

KNOWN = Path(__file__).parent / "known-failures.yaml"
INTRODUCTION = Path(__file__).parent / "introduction.md"
PAGE = REPOSITORY / "docs" / "conformance.md"
RECORD = REPOSITORY / "docs" / "conformance.json"


@dataclass(frozen=True)
class Store:
    """The results of one column, a line for each."""

    file: Path

    def read(self) -> dict[str, Result]:
        """All results, by name."""
        return results.parse(self.file.read_text()) if self.file.exists() else {}

    def add(self, found: Iterable[Result]) -> None:
        """Write results down. What is there of the same tests no longer counts."""
        self._append(results.dump(found))

    def add_run(self, tests: int, seconds: float, processes: int, load: float) -> None:
        """Write down how fast a run was, and how busy the machine with whatever it did."""
        run = {"tests": tests, "seconds": round(seconds), "processes": processes, "load": round(load)}
        self._append(f"{json.dumps({'run': run})}\n")

    def rate(self) -> Object:
        """How fast all runs were together; empty without any."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        runs = [json.loads(line)["run"] for line in lines if line.startswith('{"run"')]
        if not runs:
            return {}
        total = {key: sum(run[key] for run in runs) for key in ("tests", "seconds")}
        return total | {key: max(run.get(key, 0) for run in runs) for key in ("processes", "load")}

    def clear(self) -> None:
        """Forget everything."""
        self.file.unlink(missing_ok=True)

    def _append(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.write(text)


def open_store(cache: Cache, kubernetes: str, column: str) -> Store:
    """The results of a column; each version of Kubernetes has its own."""
    return Store(cache.conformance / "results" / kubernetes / f"{column}.jsonl")


def read_known() -> dict[str, dict[str, str]]:
    """The known failures: reasons by column and name."""
    return {column: dict(found or {}) for column, found in yaml.safe_load(KNOWN.read_text()).items()}


def publish(kubernetes: str, names: Sequence[str], columns: Mapping[str, Store]) -> None:
    """Write the docs: what is new from the stores, the rest as the docs had it."""
    record = tables.load(RECORD.read_text() if RECORD.exists() else "", names, kubernetes)
    for column, kept in columns.items():
        record.columns[column] = record.columns.get(column, {}) | kept.read()
        if rate := kept.rate():
            record.rates[column] = rate
    RECORD.write_text(tables.to_json(record))
    PAGE.write_text(tables.to_markdown(record, read_known(), INTRODUCTION.read_text()))
