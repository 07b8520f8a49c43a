"""docs/evidence/conformance.json and docs/evidence/conformance.md: every test, and what became of it where. Pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devcluster.conformance.results import COLUMNS, Result
from devcluster.conformance.sets import CONFORMANCE, POLICIES, only

Object = dict[str, Any]

MARKS = {"passed": "✓", "failed": "**✗**", "skipped": "skipped"}
"""How a result looks in a table; a test that did not run has an empty cell."""
LEGEND = "✓ passed, ✗ failed, empty: not run yet."
GOALS = {"shared-baseline": 98, "shared-privileged": 99}
"""By column: how many of the conformance tests that the host passes are to pass, in percent."""
ABOUT_POLICIES = """\
Kubernetes also has tests of NetworkPolicies. No cluster needs to pass them to conform, but Nestor's walls are NetworkPolicies. In
the column Host, they say whether the embedded cluster enforces policies as Kubernetes means them: all that Nestor's own tests say
of walls relies on that. In the other columns, they say whether the policies that users write in a nested cluster hold.
`make conformance TESTS=netpol MODE=host` runs them. Three need a kernel with SCTP. On another one, each fails only after minutes;
`FOCUS='Netpol(?! .Feature:SCTP)'` leaves them out.
"""


@dataclass
class Record:
    """What is known about all tests of one Kubernetes version."""

    kubernetes: str
    names: Sequence[str]
    columns: dict[str, dict[str, Result]] = field(default_factory=dict)
    """By column and name."""
    rates: dict[str, dict[str, Object]] = field(default_factory=dict)
    """By set and column: `tests` that ended in runs, the `seconds` of these, `processes` and `load` of the machine at most."""


def load(text: str, names: Sequence[str], kubernetes: str) -> Record:
    """What an earlier run wrote; of another version of Kubernetes, nothing."""
    found: Object = json.loads(text) if text else {}
    if found.get("kubernetes") != kubernetes:
        return Record(kubernetes, names)
    columns = {
        column: {
            name: Result(name, cell["state"], cell.get("seconds"), cell.get("message", ""))
            for name, row in found["tests"].items()
            if (cell := row.get(column))
        }
        for column in COLUMNS
    }
    return Record(kubernetes, names, columns, found.get("rates", {}))


def part(record: Record, which: str, column: str) -> tuple[list[Result], Object]:
    """The results of a set of tests in a column, and how fast they came."""
    found = record.columns.get(column, {})
    return [found[name] for name in only(which, found)], record.rates.get(which, {}).get(column, {})


def to_json(record: Record) -> str:
    """A line per test, so that a change is seen where it is."""
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(_row(record, name))}" for name in record.names)
    head = f'  "kubernetes": {json.dumps(record.kubernetes)},\n  "rates": {json.dumps(record.rates)},\n'
    return f'{{\n{head}  "tests": {{\n{rows}\n  }}\n}}\n'


def _row(record: Record, name: str) -> Object:
    found: Object = {}
    for column in COLUMNS:
        if result := record.columns.get(column, {}).get(name):
            found[column] = {"state": result.state, "seconds": result.seconds} | (
                {"message": result.message} if result.message else {}
            )
    return found


def sig(name: str) -> str:
    """The special interest group that a test belongs to."""
    match = re.match(r"\[sig-([a-z-]+)\]", name)
    return match[1] if match else "other"


def count(record: Record, column: str, names: Iterable[str]) -> tuple[int, int]:
    """How many of the tests passed, and how many ran."""
    found = record.columns.get(column, {})
    ended = [found[name] for name in names if name in found]
    return sum(result.state == "passed" for result in ended), len(ended)


def share(record: Record, column: str, names: Iterable[str]) -> tuple[int, int]:
    """Of those tests that the host passes and this column has run: how many pass here, and how many there are."""
    host, here = record.columns.get("host", {}), record.columns.get(column, {})
    both = [name for name in names if name in here and name in host and host[name].state == "passed"]
    return sum(here[name].state == "passed" for name in both), len(both)


def compare(record: Record, column: str, names: Iterable[str]) -> tuple[int, float, float]:
    """Those tests that passed on the host and here: how many, and the seconds that they took in all on the host and here."""
    host, here = record.columns.get("host", {}), record.columns.get(column, {})
    pairs = [
        (host[name].seconds, here[name].seconds)
        for name in names
        if name in host and name in here and host[name].state == here[name].state == "passed"
    ]
    both = [(one, other) for one, other in pairs if one is not None and other is not None]
    return len(both), sum(one for one, _ in both), sum(other for _, other in both)


def to_markdown(record: Record, known: Mapping[str, Mapping[str, str]], introduction: str) -> str:
    """The whole page."""
    names = only(CONFORMANCE, record.names)
    parts = [introduction.strip(), "## By special interest group", _summary(record, names), _goals(record, names)]
    parts += ["## What does not pass", _failures(record, known)]
    parts += _describe_policies(record, only(POLICIES, record.names))
    parts += ["## Every conformance test", LEGEND]
    for group in sorted({sig(name) for name in names}):
        parts += [f"### {group}", _table(record, [name for name in names if sig(name) == group])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _describe_policies(record: Record, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    counts = "\n".join([_head("tests of"), _counts(record, "NetworkPolicies", names)])
    return ["## NetworkPolicies", ABOUT_POLICIES.strip(), counts, _rates(record, POLICIES), LEGEND, _table(record, names)]


def _head(title: str) -> str:
    return f"| {title} | tests | {' | '.join(COLUMNS.values())} |\n|---|---|{'---|' * len(COLUMNS)}"


def _summary(record: Record, names: Sequence[str]) -> str:
    groups = sorted({sig(name) for name in names})
    lines = [_counts(record, group, [name for name in names if sig(name) == group]) for group in groups]
    return "\n".join([_head("SIG"), *lines, _counts(record, "**all**", names)])


def _counts(record: Record, title: str, names: Sequence[str]) -> str:
    cells = []
    for column in COLUMNS:
        passed, ended = count(record, column, names)
        cells.append(f"{passed} of {ended}" if ended else "")
    return f"| {title} | {len(names)} | {' | '.join(cells)} |"


def _goals(record: Record, names: Sequence[str]) -> str:
    return "\n".join(f"- {title}: {_goal(record, column, names)}" for column, title in COLUMNS.items())


def _goal(record: Record, column: str, names: Sequence[str]) -> str:
    if not any(name in record.columns.get(column, {}) for name in names):
        return "not run yet."
    found = []
    passed, both = share(record, column, names)
    if column != "host" and both:
        found.append(f"{passed} of the {both} tests that the host passes and that ran here pass ({100 * passed / both:.1f} %).")
        found.append(f"The goal is {GOALS[column]} %: {_judge(passed, both, GOALS[column])} so far.")
        number, host, here = compare(record, column, names)
        found.append(f"Those {number} took {host:.0f} s in all on the host and {here:.0f} s here.")
    return " ".join([*found, _rate(record, CONFORMANCE, column)]).strip()


def _rates(record: Record, which: str) -> str:
    found = {title: _rate(record, which, column) for column, title in COLUMNS.items()}
    return "\n".join(f"- {title}: {text}" for title, text in found.items() if text)


def _rate(record: Record, which: str, column: str) -> str:
    rate = record.rates.get(which, {}).get(column)
    if not rate:
        return ""
    busy = f" while the machine's load was up to {rate['load']}" if rate["load"] else ""
    return f"{rate['tests']} tests ended in {rate['seconds'] / 60:.1f} min with up to {rate['processes']} processes{busy}."


def _judge(passed: int, both: int, percent: int) -> str:
    return "met" if 100 * passed >= percent * both else "**missed**"


def _failures(record: Record, known: Mapping[str, Mapping[str, str]]) -> str:
    lines = ["| test | where | why |", "|---|---|---|"]
    for name in record.names:
        reasons: dict[str, list[str]] = {}
        for column, title in COLUMNS.items():
            result = record.columns.get(column, {}).get(name)
            if result and result.state != "passed":
                reasons.setdefault(known.get(column, {}).get(name) or "not explained yet", []).append(title)
        lines += [f"| {_cell(name)} | {', '.join(where)} | {_cell(reason)} |" for reason, where in reasons.items()]
    return "\n".join(lines) if len(lines) > 2 else "Everything that ran passed."


def _table(record: Record, names: Sequence[str]) -> str:
    lines = [f"| test | {' | '.join(COLUMNS.values())} |", f"|---|{'---|' * len(COLUMNS)}"]
    for name in names:
        cells = [result.state if (result := record.columns.get(column, {}).get(name)) else "" for column in COLUMNS]
        lines.append(f"| {_cell(name)} | {' | '.join(MARKS.get(cell, '') for cell in cells)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    short = re.sub(r"^\[sig-[a-z-]+\] |\s*\[(Conformance|NodeConformance|LinuxOnly|Feature:NetworkPolicy)\]", "", text)
    return short.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
