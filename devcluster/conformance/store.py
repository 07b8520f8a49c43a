"""Where results are kept: in the cache as they come, and in the repository's docs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from devcluster.build.cache import REPOSITORY, Cache
from devcluster.conformance import results, sets, tables
from devcluster.conformance.results import Result
from devcluster.conformance.tables import Record

Object = dict[str, Any]

KNOWN = Path(__file__).parent / "known-failures.yaml"
INTRODUCTION = Path(__file__).parent / "introduction.md"
PAGE = REPOSITORY / "docs" / "evidence" / "conformance.md"
RECORD = REPOSITORY / "docs" / "evidence" / "conformance.json"


@dataclass(frozen=True)
class Store:
    """The results of one set of tests in one column, a line for each."""

    file: Path

    def begin(self, recorded: Iterable[Result], rate: Object) -> None:
        """On a machine that has no results yet, go on from those that the docs have, and from the runs that they speak of."""
        if not self.file.exists():
            self._append(results.dump(recorded) + (_write_run(rate) if rate else ""))

    def read(self) -> dict[str, Result]:
        """All results, by name."""
        return results.parse(self.file.read_text()) if self.file.exists() else {}

    def add(self, found: Iterable[Result]) -> None:
        """Write results down. What is there of the same tests no longer counts."""
        self._append(results.dump(found))

    def add_run(self, tests: int, seconds: float, processes: int, load: float) -> None:
        """Write down how fast a run was, and how busy the machine with whatever it did."""
        self._append(_write_run({"tests": tests, "seconds": round(seconds), "processes": processes, "load": round(load)}))

    def rate(self) -> Object:
        """How fast all runs were together; empty without any."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        runs = [json.loads(line)["run"] for line in lines if line.startswith('{"run"')]
        if not runs:
            return {}
        total = {key: sum(run[key] for run in runs) for key in ("tests", "seconds")}
        load = max(run["load"] for run in runs) if all("load" in run for run in runs) else 0
        return total | {"processes": max(run["processes"] for run in runs), "load": load}

    def clear(self) -> None:
        """Forget everything, also what the docs have."""
        self.file.unlink(missing_ok=True)
        self._append("")

    def _append(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.write(text)


def _write_run(run: Object) -> str:
    return f"{json.dumps({'run': run})}\n"


def open_store(cache: Cache, kubernetes: str, which: str, column: str) -> Store:
    """The results of a set of tests in a column; each version of Kubernetes has its own."""
    name = column if which == sets.CONFORMANCE else f"{column}-{which}"
    return Store(cache.conformance / "results" / kubernetes / f"{name}.jsonl")


def read_known() -> dict[str, dict[str, str]]:
    """The known failures: reasons by column and name."""
    return {column: dict(found or {}) for column, found in yaml.safe_load(KNOWN.read_text()).items()}


def read_record(kubernetes: str, names: Iterable[str]) -> Record:
    """What the docs have."""
    return tables.load(RECORD.read_text() if RECORD.exists() else "", sorted(names), kubernetes)


def publish(record: Record, stores: Mapping[tuple[str, str], Store]) -> None:
    """Write the docs: what is new from the stores, by set and column; the rest as the docs had it."""
    for (which, column), kept in stores.items():
        record.columns[column] = record.columns.get(column, {}) | kept.read()
        if rate := kept.rate():
            record.rates.setdefault(which, {})[column] = rate
    RECORD.write_text(tables.to_json(record))
    PAGE.write_text(tables.to_markdown(record, read_known(), INTRODUCTION.read_text()))
