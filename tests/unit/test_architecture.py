"""The page of changes: what it sends a newcomer to exists, and a change is in a handful of files. The architecture's layers are
those that `make lint` checks."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
TABLE = (ROOT / "docs/changes.md").read_text()
ROWS = [[cell.strip() for cell in line.split("|")[1:4]] for line in TABLE.splitlines() if line.startswith("| ")][1:]
FOLDERS = ("src/nestor", "charts/nestor/templates", ".")


def test_a_change_is_in_a_handful_of_files() -> None:
    counts = {row[0]: len(re.findall(r"`[\w./<>]+\.(?:py|yaml)`", row[1])) for row in ROWS}
    assert len(counts) == 15
    assert {change: count for change, count in counts.items() if not 1 <= count <= 5} == {}


def test_every_place_and_every_test_that_the_page_names_exists() -> None:
    places = {path for row in ROWS for path in re.findall(r"`([\w./]+)`", row[1])}
    tests = {path for row in ROWS for path in re.findall(r"`(tests/[\w./]+)`", row[2])}
    missing = [path for path in places if not any((ROOT / folder / path).exists() for folder in FOLDERS)]
    missing += [path for path in tests if not (ROOT / path).exists()]
    assert not missing, "\n".join(missing)


def test_the_layers_are_those_of_the_import_contract() -> None:
    picture = PAGE.partition("**Imports go one way.**")[2].split("```")[1]
    drawn = [
        set(re.findall(r"[a-z]+", re.split(r"\s{4,}", line.strip())[0]))
        for line in picture.splitlines()
        if re.match(r" \w", line)
    ]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [item for item in contracts if item["name"] == "Imports go one way, and every wing has its place"]
    layers = [set(line.replace("nestor.", "").split(" | ")) for line in found["layers"]]
    assert [{"__main__"}, *drawn] == layers
