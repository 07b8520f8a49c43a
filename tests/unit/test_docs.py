"""The tables of features are whole, every test that a page names exists, and the pages stay short."""

import functools
import re
from pathlib import Path

import pytest

from devcluster.build import debian
from nestor.api.crd import RESOURCES
from nestor.api.labels import GROUP
from tests.e2e import attacks
from tests.integration.cli import stolen_portal
from tests.integration.operator import squatting, stolen, stolen_syncer, stolen_wishes

ROOT = Path(__file__).parents[2]

FEATURES = {"features.md": 115, "features-batch.md": 31, "features-overflow.md": 134}
"""How many each page has; a row that goes is missed."""
OF_OPERATOR = (*stolen.ATTACKS, *stolen_wishes.ATTACKS)
TESTS = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def read_rows(page: str) -> list[list[str]]:
    """The rows of a page's tables whose first cell is an id."""
    lines = (ROOT / "docs/evidence" / page).read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if re.match(r"\| [A-Z0-9]{3}-\d\d \|", line)]


def test_the_page_of_the_cluster_lists_what_is_installed_on_the_machine() -> None:
    text = (ROOT / "devcluster/README.md").read_text()
    packages = {*debian.TOOLS.values(), *debian.C_TOOLS.values(), *debian.BROWSER.values(), "python3-venv"}
    said = re.search(r"installed with apt, and stay: ([^.;]*)[.;]", text)
    assert said is not None
    assert set(re.findall(r"`([^`]+)`", said[1])) == packages
    assert "python3-venv" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("page", FEATURES)
def test_no_feature_is_missing(page: str) -> None:
    listed = [row[0] for row in read_rows(page)]
    assert len(listed) == len(set(listed)) == FEATURES[page]


def test_every_row_names_tests_or_is_refused_for_a_reason() -> None:
    reason = re.compile(r"refused[^:;]*[:;] \S|\(check: ")
    features = [(row[0], row[1] and row[2], row[3] or reason.match(row[2])) for page in FEATURES for row in read_rows(page)]
    others = [(row[0], row[1], TESTS.match(row[2])) for page in ("faults-overflow.md", "attacks.md") for row in read_table(page)]
    others += [(row[0], row[1], TESTS.search(row[2])) for row in read_table("refusals.md")]
    faults = [title for title, words, proof in (*features, *others) if not (words and proof)]
    assert not faults, "\n".join(faults)
    assert len(others) > 165


def test_every_test_that_a_page_names_exists() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    named = {(page.name, file, name) for page in pages for file, name in TESTS.findall(page.read_text())}
    faults = [f"{page}: {file}::{name}" for page, file, name in sorted(named) if not is_there(file, name)]
    assert not faults, "\n".join(faults)
    assert len(named) > 400


def read_table(page: str) -> list[list[str]]:
    """The rows of a page of evidence without the tables' heads."""
    lines = (ROOT / "docs/evidence" / page).read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return [row for row in rows if row[0] not in ("id", "it tries", "fault")]


def is_there(file: str, name: str) -> bool:
    """Whether there is such a test."""
    return re.search(rf"^(async )?def {name}\(", read(ROOT / file), re.MULTILINE) is not None


@functools.cache
def read(path: Path) -> str:
    """A file, empty if there is none."""
    return path.read_text() if path.is_file() else ""


def test_no_attack_stands_for_two() -> None:
    lists = (attacks.APP, attacks.RUNNER, attacks.CONTROLLED, OF_OPERATOR)
    for items in (*lists, stolen_syncer.ATTACKS, stolen_portal.ATTACKS, squatting.ATTACKS):
        assert len({item.id for item in items}) == len(items)
    assert {item.id for item in (*attacks.APP, *attacks.CLOSED, *attacks.RUNNER)} == {item.id for item in attacks.CONTROLLED}


def test_uninstalling_names_all_that_helm_leaves() -> None:
    plurals = sorted(f"{resource.plural}.{GROUP}" for resource in RESOURCES)
    for page in ("docs/uninstall.md", "charts/nestor/README.md", "charts/nestor/templates/NOTES.txt"):
        listed = re.search(r"kubectl delete crd((?: [a-z]+\.nestor\.dev)+)", " ".join((ROOT / page).read_text().split()))
        assert listed is not None, page
        assert sorted(listed[1].split()) == plurals, page


def test_docstrings_name_modules_that_exist() -> None:
    files = [file for folder in ("src", "devcluster") for file in (ROOT / folder).rglob("*.py")]
    named = {(file, path) for file in files for path in re.findall(r"`nestor(?!\.dev)((?:\.[a-z_]+)+)`", file.read_text())}
    places = {(file, path): ROOT / f"src/nestor{path.replace('.', '/')}" for file, path in named}
    there = {key for key, place in places.items() if place.is_dir() or place.with_suffix(".py").is_file()}
    faults = [f"{file}: nestor{path}" for file, path in sorted(named - there)]
    assert not faults, "\n".join(faults)


def test_the_pages_stay_short() -> None:
    """A page answers a reader's question, and a fact is on one page. The reference and the evidence are looked up, not read."""
    counts = {page.name: len(page.read_text().split()) for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
    assert sum(counts.values()) <= 25_000, counts
    assert counts["README.md"] <= 700
