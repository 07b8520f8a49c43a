"""Words that make text foreign to readers of English, in what users read: `python -m tests.prose`, a part of `make lint`.

Checked are the pages, the generated reference, the chart's notes and alerts, the web page, and the strings of several words in
`src`: messages, events, advice, descriptions of fields. Code and docstrings are left out. codespell checks spelling.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = {
    r"(some|no)body": "a user, another user, no one; or name who",
    r"(what|who|which)ever": "any, all, users who; or name it",
    r"of (its|their|our) own(?=[.,;:)]|$| (and|or|in|by|to|for|with|too|is|are|may|as|if)\b)": "its own, separate, dedicated",
    r"(is|are|was|were|be|been|not) told": "Nestor reports, the status shows, an event says",
    r"says? so": "say what is reported, and where",
    r"carried": "copied, synced, passed on",
    r"besides": "in addition to, except",
    r"as (it is|they are)": "unchanged",
    r"becomes? of": "what happens to",
    r"by (itself|themselves)": "automatically, alone",
    r"go(es)? on": "continue, keep running",
    r"gets? on": "progress, continue",
    r"(by|with) which": "a clause with a subject and a verb",
    r"for ever": "forever, indefinitely",
    r"no more(?! than)": "no longer, only",
    r"(may|can) be left out": "optional",
    r"anew": "again",
    r"thief|thieves": "attacker",
    r"his|hers?|he|she": "their, the user's",
    r"in the name of": "on behalf of, as",
    r"in force": "in effect, active",
    r"hears? of": "notices, receives",
    r"of the house": "internal",
}
"""What is wrong, and what to write instead."""
FILES = (
    *("README.md", "docs/*.md", "docs/reference/*.md", "charts/nestor/monitoring/*", "charts/nestor/templates/NOTES.txt"),
    *("src/**/*.html", "src/**/*.py"),
)
_RULES = [(re.compile(rf"\b({words})\b".replace(" ", r"\s+"), re.IGNORECASE), instead) for words, instead in RULES.items()]
_CODE = re.compile(r"^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)|\{[%{].*?[%}]\}|<[^>]*>", re.MULTILINE | re.DOTALL)


def find_in_text(text: str) -> Iterator[tuple[int, str]]:
    """The lines that have such words, each with what to write instead. Code, links and tags are left out."""
    prose = _CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for words, instead in _RULES:
        for found in words.finditer(prose):
            yield prose.count("\n", 0, found.start()) + 1, f"'{' '.join(found[0].split())}': {instead}"


def find_in_python(source: str) -> Iterator[tuple[int, str]]:
    """Those in strings that are no docstrings."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and id(node) not in docstrings:
            yield from ((node.lineno, fault) for _, fault in find_in_text(node.value))


def find_in_repository() -> Iterator[str]:
    """All of them, as `file:line: …`."""
    for file in sorted(file for pattern in FILES for file in ROOT.glob(pattern)):
        find = find_in_python if file.suffix == ".py" else find_in_text
        yield from (f"{file.relative_to(ROOT)}:{line}: {fault}" for line, fault in sorted(find(file.read_text())))


if __name__ == "__main__":
    sys.exit("\n".join(find_in_repository()) or None)
