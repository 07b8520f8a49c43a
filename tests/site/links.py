"""Links of pages: where they lead, and the pages that the site makes of what is outside of `docs`. Pure but for reading files.

A link that leaves `docs` leads to a page of the site, which shows the file, or the README and the files of the folder. So the
site needs no address of a repository, and a link can neither die nor lead to another version.
"""

import re
from collections.abc import Iterable, Iterator
from os.path import normpath
from pathlib import Path, PurePosixPath
from posixpath import relpath

ROOT = Path(__file__).parents[2]
HOME = "repository"
"""The folder of the site that has what is outside of `docs`."""
_LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s#]+)(?P<anchor>#[^()\s]+)?(?=\))")
_CODE = re.compile(r"^( *)(`{3,}).*?^\1\2[ \t]*$|(?<!`)(`+)(?!`).*?(?<!`)\3(?!`)", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".py": "python", ".sh": "bash", ".tpl": "text"}
_SIZE_LIMIT = 100_000
"""Characters of a file that a page shows."""


def list_links(text: str) -> Iterator[tuple[str, str]]:
    """Targets and anchors of the relative links outside of code; an anchor alone has no target here."""
    for found in _LINK.finditer(_blank(text)):
        if ":" not in found["target"]:
            yield found["target"], (found["anchor"] or "").removeprefix("#")


def resolve(source: str, target: str) -> str:
    """The path in the repository to which a link of the file `source` leads."""
    return normpath(PurePosixPath(source).parent / target)


def locate(path: str) -> str:
    """Where the site has a file or a folder of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{HOME}/{path}" if path.endswith(".md") else f"{HOME}/{path}.md"


def rewrite(text: str, source: str, page: str) -> str:
    """The text of the file `source`, its links as the site's page `page` needs them."""

    def change(found: re.Match[str]) -> str:
        if ":" in found["target"]:
            return found[0]
        place = relpath(locate(resolve(source, found["target"])), str(PurePosixPath(page).parent))
        return f"{place}{found['anchor'] or ''}"

    hidden = _blank(text)
    parts, end = [], 0
    for found in _LINK.finditer(hidden):
        parts += [text[end : found.start()], change(found)]
        end = found.end()
    return "".join([*parts, text[end:]])


def build_pages() -> dict[str, str]:
    """The pages that the site makes of what is outside of `docs`, by their paths in it."""
    found: dict[str, str] = {}
    waiting = [path for page in (ROOT / "docs").rglob("*.md") for path in _list_outside(str(page.relative_to(ROOT)))]
    while waiting:
        path = waiting.pop()
        if locate(path) not in found:
            source, text = _build_page(path)
            found[locate(path)] = rewrite(text, source, locate(path))
            waiting += [resolve(source, target) for target, _ in list_links(text) if _is_outside(resolve(source, target))]
    return found


def _list_outside(source: str) -> Iterator[str]:
    for target, _ in list_links((ROOT / source).read_text()):
        if _is_outside(resolve(source, target)):
            yield resolve(source, target)


def _is_outside(path: str) -> bool:
    return not path.startswith("docs/")


def _build_page(path: str) -> tuple[str, str]:
    """The file whose links the page has, and its text."""
    place = ROOT / path
    if place.is_dir():
        readme = place / "README.md"
        text = readme.read_text() if readme.is_file() else f"# `{path}`\n"
        return f"{path}/README.md", "\n".join([text, *_show_files(place)])
    if path.endswith(".md"):
        return path, place.read_text()
    return path, f"# `{path}`\n\n{_fence(place)}"


def _show_files(folder: Path) -> Iterable[str]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.name != "README.md" and "__pycache__" not in file.parts:
            yield f"## `{file.relative_to(folder)}`\n\n{_fence(file)}"


def _fence(file: Path) -> str:
    text = file.read_text()
    shown = text if len(text) <= _SIZE_LIMIT else f"{text[:_SIZE_LIMIT]}\n…"
    return f"````{_LANGUAGES.get(file.suffix, 'text')}\n{shown.rstrip()}\n````\n"


def _blank(text: str) -> str:
    """The text with as many spaces instead of code."""
    return _CODE.sub(lambda found: " " * len(found[0]), text)
