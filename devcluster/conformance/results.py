"""What became of tests: read from the suite's reports, kept in a file, judged by the list of known failures. Pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["passed", "failed", "skipped"]
Object = dict[str, Any]

COLUMNS = {"host": "Host", "shared-baseline": "Shared/Baseline", "shared-privileged": "Shared/Privileged"}
"""Where the tests run: names in files, and titles in tables."""
FAILED_STATES = ("failed", "panicked", "timedout", "aborted")
SUITE_TIMEOUT = "suite timeout"
MESSAGE_LENGTH = 600
_ENDED = re.compile(r"^\S+ (?:\[(?P<state>[A-Z]+)\] |\[FLAKEY TEST [^]]*\] )?\[(?P<seconds>[0-9.]+) seconds\]$")
_ENDS: dict[str | None, State] = {None: "passed", "FAILED": "failed", "PANICKED": "failed"}
"""What is certain before the report is there: a test that is out of time may have been cut off by the end of the run."""
_NODE = re.compile(r"\[(It|BeforeEach|AfterEach|DeferCleanup \(Each\))\] | \[(BeforeEach|AfterEach|DeferCleanup \(Each\))\]")
"""The part of a test that failed, which stands in its name then."""


@dataclass(frozen=True)
class Result:
    """The end of one test."""

    name: str
    state: State
    seconds: float | None = None
    message: str = ""
    """Why it failed, shortened; of one that passed, what is to be known about that."""


@dataclass(frozen=True)
class Verdict:
    """What the list of known failures says to results."""

    unlisted: tuple[Result, ...]
    """Failed, and not listed."""
    mended: tuple[Result, ...]
    """Listed, and passed: to be taken off the list."""

    @property
    def is_good(self) -> bool:
        """Whether everything is as listed."""
        return not (self.unlisted or self.mended)


def column(mode: str, class_name: str) -> str:
    """The name of the column that a run fills. Raises `ValueError`."""
    name = "host" if mode == "host" else f"{mode}-{class_name}"
    if name not in COLUMNS:
        raise ValueError(f"MODE must be host or shared, and CLASS baseline or privileged, not '{mode}' and '{class_name}'")
    return name


class Reading:
    """Follows what the suite prints: for each test a line that says how it ended, and one that begins with its name."""

    def __init__(self, names: Iterable[str]) -> None:
        # Where one name begins with another one, the longer one is meant.
        self._names = sorted(names, key=len, reverse=True)
        self._ended: tuple[State, float] | None = None

    def read(self, line: str) -> Result | None:
        """The test whose end this line completes."""
        ended, self._ended = self._ended, None
        if found := _ENDED.match(line):
            state = _ENDS.get(found["state"])
            self._ended = (state, float(found["seconds"])) if state else None
        elif ended:
            text = _NODE.sub("", line)
            for name in self._names:
                if text.startswith(name):
                    return Result(name, ended[0], round(ended[1], 1))
        return None


def read_report(suites: Sequence[Object], wanted: Iterable[str]) -> list[Result]:
    """The ends of the wanted tests according to ginkgo's report; a test that the run's own end cut off has none."""
    chosen = set(wanted)
    found = []
    for spec in (spec for suite in suites for spec in suite.get("SpecReports") or []):
        name = " ".join([*(spec.get("ContainerHierarchyTexts") or []), spec.get("LeafNodeText", "")])
        state = _state(spec)
        if name in chosen and state is not None:
            message = "" if state == "passed" else shorten(_message(spec))
            found.append(Result(name, state, round(spec.get("RunTime", 0) / 1e9, 1), message))
    return found


def _state(spec: Object) -> State | None:
    state, message = spec.get("State", ""), _message(spec)
    if state == "passed":
        return "passed"
    if state == "skipped" and message:
        return "skipped"
    return "failed" if state in FAILED_STATES and SUITE_TIMEOUT not in message else None


def _message(spec: Object) -> str:
    return str((spec.get("Failure") or {}).get("Message", ""))


def shorten(text: str) -> str:
    """A message in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_LENGTH else f"{line[: MESSAGE_LENGTH - 1]}…"


def find_setup_failure(suites: Sequence[Object]) -> str:
    """Why the suite could not begin; empty if it could."""
    for spec in (spec for suite in suites for spec in suite.get("SpecReports") or []):
        if "BeforeSuite" in spec.get("LeafNodeType", "") and spec.get("State") in FAILED_STATES:
            return shorten(_message(spec))
    return ""


def parse(text: str) -> dict[str, Result]:
    """The results in a file with a line for each, of which later ones count; a line that was cut off is left out."""
    found: dict[str, Result] = {}
    for line in text.splitlines():
        try:
            result = Result(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[result.name] = result
    return found


def dump(results: Iterable[Result]) -> str:
    """The lines for `parse`."""
    return "".join(f"{json.dumps(asdict(result))}\n" for result in results)


def choose(names: Iterable[str], done: Mapping[str, Result], again: str) -> list[str]:
    """The tests that a run still has to do; `again` is `failed` or `all` to repeat some that have ended."""
    if again not in ("", "failed", "all"):
        raise ValueError(f"AGAIN must be empty, 'failed' or 'all', not '{again}'")
    return [name for name in names if again == "all" or name not in done or (again and done[name].state != "passed")]


def judge(results: Iterable[Result], known: Mapping[str, str]) -> Verdict:
    """Compare results with the list of known failures. What is listed and did not run says nothing."""
    ended = sorted(results, key=lambda result: result.name)
    return Verdict(
        unlisted=tuple(result for result in ended if result.state != "passed" and result.name not in known),
        mended=tuple(result for result in ended if result.state == "passed" and result.name in known),
    )
