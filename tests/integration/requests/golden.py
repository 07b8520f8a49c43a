"""Recorded requests as text, and the comparison with what was agreed on. NESTOR_REWRITE_GOLDEN=1 writes the files anew.

A file has a title per step, then a line per write, sorted by object and in the order in which they were sent to it, then a line
per path that was read. What is a set although it was a sequence is said by `Rules`; how a line reads, by `lines`.
"""

import difflib
import itertools
import os
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from nestor.api.objects import Object
from tests.integration import late
from tests.integration.requests.lines import Lines
from tests.integration.requests.recorder import Recorder, Request, Step

FOLDER = Path(__file__).parents[2] / "golden/requests"
_OF_ALL = ("fieldManager", "fieldValidation", "force")


@dataclass(frozen=True)
class Rules:
    """Patterns of targets (`host /api/v1/…`) for which a step says less than the full sequence, because that is a race."""

    sets: tuple[str, ...] = ()
    """Each different request once, sorted, without the answer: sent in any order, or sent again while a cache is behind."""
    once: tuple[str, ...] = ()
    """Each different request once, without the answer, in the order in which they were first sent."""
    latest: tuple[str, ...] = ()
    """Only the last one, without the answer: each says the whole state, and which are skipped on the way is a matter of time."""
    left_out: tuple[str, ...] = ()
    """Patterns of `DELETE host /api/v1/…`: what is sent or not, as others are quicker or not."""
    masked: tuple[str, ...] = ()
    """Secrets whose data are keys and certificates: that these are others is no change."""


def check(name: str, recorder: Recorder, rules: Rules) -> None:
    """Compare with the file of that name. Not where watches are late on purpose: what a cache does not show, is asked again."""
    if late.DELAY:
        return
    path = FOLDER / f"{name}.txt"
    text = render(recorder, rules)
    if os.environ.get("NESTOR_REWRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = path.read_text() if path.exists() else ""
    if text != before:
        lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "agreed on", "sent now", lineterm="", n=12)
        raise AssertionError(f"other requests than in {path}:\n" + "\n".join(lines))


def render(recorder: Recorder, rules: Rules) -> str:
    """All steps, an empty line between them."""
    lines = Lines()
    steps = [[f"# {step.title}", *_render_step(step, recorder, rules, lines)] for step in recorder.steps]
    return "\n\n".join("\n".join(step) for step in steps) + "\n"


def _render_step(step: Step, recorder: Recorder, rules: Rules, lines: Lines) -> list[str]:
    replace = recorder.words.replace
    written: dict[str, list[Object]] = {}
    requests = [item for item in step.requests if not _matches(rules.left_out, f"{item.method} {item.target}")]
    for request in requests:
        if not request.is_read:
            masked = _matches(rules.masked, request.target)
            written.setdefault(request.target, []).append(_render(request, is_masked=masked))
    writes: dict[str, list[Object]] = {}
    for target, sent in written.items():
        said = [replace(item) for item in sent]
        if _matches(rules.sets, target):
            said = sorted(_distinct(said), key=yaml.safe_dump)
        elif _matches(rules.once, target):
            said = _distinct(said)
        elif _matches(rules.latest, target):
            said = _distinct(said[-1:])
        writes.setdefault(replace(target), []).extend(said)
    reads = sorted({f"GET {replace(f'{item.target}{_query(item)}')}" for item in requests if item.is_read})
    return [*itertools.chain.from_iterable(lines.write(target, writes[target]) for target in sorted(writes)), *reads]


def _render(request: Request, *, is_masked: bool) -> Object:
    body = request.body
    if is_masked and isinstance(body, dict) and "data" in body:
        body = body | {"data": dict.fromkeys(body["data"], "<masked>")}
    verb = "APPLY" if request.content_type == "application/apply-patch+yaml" else request.method
    result: Object = {"verb": verb, "query": _query(request), "body": body}
    return result | ({"answer": request.answer} if request.answer >= 300 else {})


def _distinct(requests: list[Object]) -> list[Object]:
    bare = [{key: value for key, value in item.items() if key != "answer"} for item in requests]
    return list({yaml.safe_dump(item): item for item in bare}.values())


def _query(request: Request) -> str:
    """Without who it is that writes, and how strictly."""
    query = [f"{key}={value}" for key, value in sorted(request.query.items()) if key not in _OF_ALL]
    return "?" + "&".join(query) if query else ""


def _matches(patterns: tuple[str, ...], target: str) -> bool:
    return any(re.search(pattern, target) for pattern in patterns)
