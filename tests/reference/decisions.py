"""The index of `docs/decisions`, from the files there. A decision without a number is new, and has no row yet."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs/decisions"
AREAS = (
    "api",
    "operator",
    "queue",
    "syncer",
    "vnode",
    "runner",
    "cluster",
    "exposure",
    "security",
    "cli",
    "build",
    "tests",
    "docs",
)
HEAD = re.compile(
    r"# (?:(?P<number>\d{4}) )?(?P<title>.+)\n\nStatus: (?P<status>.+) · (?P<date>\d{4}-\d\d-\d\d) · (?P<area>\w+)\n\n- "
)
"""How a decision begins."""
INTRODUCTION = """\
# Decisions

Why Nestor is as it is: one decision per file, with its context, the choice, what follows from it, and what was rejected.

A new decision gets the next number, has at most 15 lines, and one of these areas: {areas}. One that is reversed is deleted, or
says which decision takes its place. `make crds` writes this table.

| number | decision | area | status | date |
|---|---|---|---|---|
"""


def list_files() -> list[Path]:
    """All decisions."""
    return sorted(file for file in FOLDER.glob("*.md") if file.name != "README.md")


def build_page() -> str:
    """The index, in the order of the numbers."""
    rows = []
    for file in list_files():
        head = HEAD.match(file.read_text())
        if head and head["number"]:
            rows.append(
                "| {number} | [{title}]({name}) | {area} | {status} | {date} |\n".format(name=file.name, **head.groupdict())
            )
    return INTRODUCTION.format(areas=", ".join(AREAS)) + "".join(rows)
