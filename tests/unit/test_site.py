"""The documentation as a site: it builds without a warning, no link in it is dead, it loads nothing from elsewhere, and it shows
what other readers of Markdown show."""

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.reference import decisions
from tests.site import links

ROOT = Path(__file__).parents[2]
COUNTED = ("table", "pre", "li", "h1", "h2", "h3", "h4", "blockquote")
_MARKDOWN = MarkdownIt("commonmark").enable("table")


class Reader(HTMLParser):
    """Of a page: what it links to, what it loads, its anchors, and its tags within the article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.counts: Counter[str] = Counter()
        self._is_article = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link":
            self.loads.append(found["href"])
        elif "src" in found:
            self.loads.append(found["src"])
        self._is_article |= tag == "article"
        if self._is_article and tag in COUNTED:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._is_article &= tag != "article"


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "src:.", "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def find_dead(pages: dict[str, Reader], folder: Path) -> list[str]:
    """Links and loads that lead nowhere, or out of the site without need."""
    dead = []
    for name, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or (name == "404.html" and link.startswith("/")):
                continue
            target = normpath(f"{Path(name).parent}/{unquote(parts.path)}") if parts.path else name
            if not (folder / target).is_file():
                dead.append(f"{name}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                dead.append(f"{name}: {link}: no such anchor")
    return dead


def count_expected(text: str) -> Counter[str]:
    """What another reader makes of a page."""
    found = Counter(re.findall(r"<(\w+)[ >]", _MARKDOWN.render(text)))
    return Counter({tag: found[tag] for tag in COUNTED if found[tag]})


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    built = build(ROOT / "mkdocs.yml", tmp_path)
    assert built.returncode == 0, built.stderr
    pages = {str(file.relative_to(tmp_path)): Reader(file.read_text()) for file in tmp_path.rglob("*.html")}
    assert len(pages) > 40
    assert find_dead(pages, tmp_path) == []
    assert [load for page in pages.values() for load in page.loads if urlsplit(load).netloc] == []
    expected = {str(file.relative_to(ROOT / "docs")): count_expected(file.read_text()) for file in (ROOT / "docs").rglob("*.md")}
    shown = {name: pages[str(Path(name.replace("README", "index")).with_suffix(".html"))].counts for name in expected}
    differ = [(name, shown[name] - counts, counts - shown[name]) for name, counts in expected.items() if shown[name] != counts]
    assert differ == [], "a blank line is missing before a list, or before an item that follows a block or a second paragraph"
    example = (tmp_path / "repository/examples/14-database.html").read_text()
    assert "StatefulSet" in example
    assert "Nestor" in (tmp_path / "search/search_index.json").read_text()


def test_every_page_has_its_place_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"[\w/-]+\.md", text)
    pages = {file for file in (ROOT / "docs").rglob("*.md")} - {*decisions.list_files()}  # those are listed by an index
    assert sorted(listed) == sorted(str(file.relative_to(ROOT / "docs")) for file in pages)
    assert len(yaml.safe_load(text)) >= 8


def test_a_link_leads_to_where_the_site_has_its_target() -> None:
    """What is built of all pages, `test_the_site` checks."""
    code = "`[code](a)`\n```text\n[c](d)\n```\n"
    text = f"see [it](https://example.com/), [this](../../docs/a.md#b), [that](job.yaml) and {code}"
    expected = f"see [it](https://example.com/), [this](../../a.md#b), [that](01-x/job.yaml.md) and {code}"
    assert links.rewrite(text, "examples/01-x/README.md", "repository/examples/01-x.md") == expected
