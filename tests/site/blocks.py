"""The blocks of code of the documentation's pages, with their languages. Reads files, otherwise pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(page for folder in ("charts", "devcluster") for page in (ROOT / folder).rglob("README.md")),
    EXAMPLES / "README.md",
    *sorted(EXAMPLES.glob("*/README.md")),
)
SHELLS = ("bash", "console", "sh")
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_TITLE = re.compile(r'title="([^"]+)"')
_INLINE = re.compile(r"(nestor|kubectl|helm|make|python -m|base64 -w) [a-z0-9][\w.-]*(?: |$)(?!.*(\[|…$))")


@dataclass(frozen=True)
class Block:
    """One block of code; `line` counts from 1."""

    page: str
    line: int
    language: str
    title: str
    """The file that the reader is to make of it; empty if it is none."""
    text: str


def read_blocks(text: str, page: str) -> list[Block]:
    """All blocks of a page. An indented one has the language ``."""
    found = []
    for token in _MARKDOWN.parse(text):
        if token.type in ("fence", "code_block") and token.map:
            language, _, rest = token.info.strip().partition(" ")
            title = _TITLE.search(rest)
            found.append(Block(page, token.map[0] + 1, language, title[1] if title else "", token.content))
    return found


def list_blocks() -> list[Block]:
    """All blocks of all pages."""
    return [block for page in PAGES for block in read_blocks(page.read_text(), str(page.relative_to(ROOT)))]


def list_inline() -> Iterator[tuple[str, str]]:
    """Page and text of what stands in backticks and begins with a program's name and a word; the reference is generated."""
    for page in PAGES:
        for token in _MARKDOWN.parse(page.read_text()):
            for child in token.children or ():
                if child.type == "code_inline" and _INLINE.match(child.content) and page.parent.name != "reference":
                    yield str(page.relative_to(ROOT)), child.content
