"""The tables of features are whole, every test that a page names exists, and the pages stay short."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from devcluster.build import debian
from nestor.api.crd import RESOURCES
from nestor.api.labels import GROUP
from tests.e2e import attacks
from tests.integration.cli import stolen_portal
from tests.integration.operator import squatting, stolen, stolen_syncer, stolen_wishes

ROOT = Path(__file__).parents[2]
COUNTS = {
    "KNS": 15, "K3S": 6, "JVC": 6, "P2C": 4, "ADF": 18, "NKK": 5, "ING": 8, "RTY": 10, "TPL": 8, "KCT": 5, "KUS": 4, "CUS": 9,
    "APK": 5, "HWE": 4, "ARG": 3, "KAI": 5,
}  # fmt: skip
BATCH = {
    "KSC": (1,), "KLT": (1,), "SLM": (2,), "ARM": (1,), "YUN": (1,), "VOL": (1,), "MCD": (1,), "DRA": (1,), "JOB": (5, 8, 9),
    "PFP": (1, 2), "IDJ": (2,), "HDL": (1, 2), "MPI": (1,), "KUE": (1, 2), "JEN": (3,), "JST": (1, 2, 4, 5, 6), "WLD": (1,),
    "WFE": (1,), "XSG": (1, 2, 3, 5),
}  # fmt: skip
"""What batch users expect, and Nestor did not have at first."""
OF_OPERATOR = (*stolen.ATTACKS, *stolen_wishes.ATTACKS)
TESTS = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def read_rows(page: str) -> list[list[str]]:
    """The rows of a page's tables whose first cell is an id."""
    lines = (ROOT / "docs/evidence" / page).read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if re.match(r"\| [A-Z0-9]{3}-\d\d \|", line)]


ROWS, BATCH_ROWS = read_rows("features.md"), read_rows("features-batch.md")


def test_the_page_of_the_cluster_lists_what_is_installed_on_the_machine() -> None:
    text = (ROOT / "devcluster/README.md").read_text()
    packages = {*debian.TOOLS.values(), *debian.C_TOOLS.values(), *debian.BROWSER.values(), "python3-venv"}
    said = re.search(r"installed with apt, and stay: ([^.;]*)[.;]", text)
    assert said is not None
    assert set(re.findall(r"`([^`]+)`", said[1])) == packages
    assert "python3-venv" in (ROOT / "Makefile").read_text()


def test_no_feature_is_missing() -> None:
    expected = [f"{group}-{number:02}" for group, count in COUNTS.items() for number in range(1, count + 1)]
    assert [row[0] for row in ROWS] == expected
    assert [row[0] for row in BATCH_ROWS] == [f"{group}-{number:02}" for group, found in BATCH.items() for number in found]


def test_every_row_names_tests_or_is_refused_for_a_reason() -> None:
    features = [(row[0], row[1] and row[2], row[3] or re.match(r"refused[^:;]*[:;] \S", row[2])) for row in [*ROWS, *BATCH_ROWS]]
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
    assert len(named) > 500


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
    for page in ("docs/admins.md", "charts/nestor/README.md", "charts/nestor/templates/NOTES.txt"):
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
