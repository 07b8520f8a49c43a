"""What the pages about overflow say is so: their recipes are right, and their tables are what the code does."""

import re
from pathlib import Path
from typing import cast

import pytest
import yaml
from pydantic import TypeAdapter

from benchmarks.overflow.__main__ import CONTAINERS
from benchmarks.overflow.measures import MEASURES
from nestor.api.allowances import Storage
from nestor.api.class_parts import NamespacePolicy
from nestor.api.objects import Object
from nestor.api.placement_rules import ClassPlacement
from nestor.api.policy import Policy
from nestor.kube import Api
from nestor.overflow.interlink import build as interlink
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.remote import refusals as remote_refusals
from nestor.overflow.remote.provider import RemoteProvider
from nestor.overflow.remote.settings import Access, Settings
from nestor.pods.providers import base, errors
from nestor.pods.translate import refusals as translate
from tests.fakes.cluster import MemoryCluster
from tests.unit.test_docs import read_rows

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "overflow.md").read_text()
METRICS = (ROOT / "docs" / "reference" / "metrics.md").read_text()
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()
PROVIDERS = (ROOT / "docs" / "providers.md").read_text()
SOURCE = "\n".join(file.read_text() for file in sorted((ROOT / "src" / "nestor").rglob("*.py")))


def read_table(text: str, header: str) -> list[list[str]]:
    """The rows of the first table with this header."""
    lines = text.partition(header)[2].splitlines()[2:]
    end = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:end]]


def find_words(text: str) -> list[str]:
    """What a page has in backticks, without its blocks of code."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return sorted(set(re.findall(r"`([^`\n]+)`", plain)))


ANSWERS = find_words("\n".join(row[2] for row in read_rows("features-overflow.md") if not row[2].startswith("(check: ")))
WORDS = sorted({*ANSWERS, *find_words(GUIDE)})


def test_every_metric_of_a_backends_process_is_explained() -> None:
    rows = read_table(METRICS, "| metric | meaning |")
    assert {name.strip("`") for name, _ in rows} == set(re.findall(r'"(nestor_vnode_\w+)"', SOURCE))


def test_every_measure_of_the_benchmarks_is_explained() -> None:
    rows = read_table(PERFORMANCE, "| measure | what happens | goal | found |")
    assert [name.strip("`") for name, *_ in rows if name] == [*MEASURES, CONTAINERS]


def test_every_recipe_is_one_that_a_class_takes() -> None:
    named = [word for word in WORDS if re.fullmatch(r"[a-z]\w*(\.[a-z]\w*)?: [{\[].*[}\]]", word) and "…" not in word]
    assert named
    for found in (yaml.safe_load(f"{{{word}}}") for word in named):
        if "namespace.quota" in found:
            NamespacePolicy.model_validate({"quota": found["namespace.quota"]}, extra="forbid", by_name=False)
        else:
            TypeAdapter(ClassPlacement).validate_python(found, extra="forbid", by_alias=True, by_name=False)


WORKS = read_table((ROOT / "docs" / "reference" / "overflow.md").read_text(), "| | node | interLink | cluster |")
VOLUMES = [(row[0].split("`")[1], row[1:]) for row in WORKS if row[0].startswith("volume `")]


WITH_STORAGE = Policy(storage=Storage(classes=["fast"]))


def with_volume(kind: str) -> Object:
    return {"metadata": {"name": "x"}, "spec": {"containers": [], "volumes": [{"name": "data", kind: {}}]}}


@pytest.mark.parametrize(("kind", "cells"), VOLUMES, ids=[kind for kind, _ in VOLUMES])
def test_what_is_said_of_volumes_is_so(kind: str, cells: list[str]) -> None:
    pod = with_volume(kind)
    host, link, cluster = (cell.partition(",")[0].partition(";")[0] for cell in cells)
    assert (host == "refused") is bool(translate.find_refusals(pod, Policy()))
    assert (link == "refused") is bool(interlink.find_refusals(pod))
    assert (cluster == "refused") is bool(remote_refusals.find_refusals(pod))
    if "unless the class is `Privileged`" in cells[0]:
        assert not translate.find_refusals(pod, Policy(pod_security="Privileged"))
    assert ("unless the class has" in cells[0]) is (host == "refused" and not translate.find_refusals(pod, WITH_STORAGE))


@pytest.mark.parametrize("field", ["hostNetwork", "hostPID", "hostIPC", "resourceClaims"])
def test_what_is_said_to_be_refused_is_refused(field: str) -> None:
    row = next(row for row in WORKS if field in row[0] or (field == "resourceClaims" and "resource claims" in row[0]))
    pod: Object = {"metadata": {"name": "x"}, "spec": {"containers": [], field: True if field != "resourceClaims" else [{}]}}
    assert all(cell.startswith("refused") for cell in row[1:])
    assert translate.find_refusals(pod, Policy())
    assert interlink.find_refusals(pod)
    assert remote_refusals.find_refusals(pod)


async def test_what_is_said_of_commands_is_so() -> None:
    """That somebody uses what a provider can do, tests with another cluster show (e2e/test_overflow_remote.py)."""
    remote = RemoteProvider(Settings(Access({}), "far", "uid", "pods"), cast(Api, MemoryCluster()))
    for words, capability in (
        ("`kubectl exec`", "streams"),
        ("`kubectl debug`", "updates"),
        ("resize", "updates"),
        ("changes of ConfigMaps", "refreshes"),
    ):
        (row,) = [row for row in WORKS if row[0].startswith(words)]
        assert row[1:] == ["yes", "no", "yes"]
        assert getattr(InterlinkProvider, capability) is None
        assert getattr(remote, capability) is not None
    await remote.close()
    assert [row[1:] for row in WORKS if row[0].startswith("`kubectl logs`")] == [["yes", "yes", "yes"], ["yes", "backend", "yes"]]
    assert InterlinkProvider.logs is not None


SUITE = "\n".join((ROOT / "tests/conformance/providers" / name).read_text() for name in ("backend.py", "contract.py"))


def test_the_contract_is_held_by_the_tests_that_the_page_names() -> None:
    named = set(re.findall(r"`(test_[a-z_]+)`", PROVIDERS))
    assert named
    assert sorted(name for name in named if f"async def {name}(" not in SUITE) == []


def test_the_page_has_every_method_and_every_error_of_the_interface() -> None:
    methods = {
        cell.strip("`").partition("(")[0] for cell, *_ in read_table(PROVIDERS, "| method | what it promises | held by |") if cell
    }
    capabilities = {"logs", "streams", "lists", "updates", "refreshes"}
    assert methods | capabilities == {name for name in vars(base.Backend) if not name.startswith("_")}
    named = {cell.strip("`") for cell, _ in read_table(PROVIDERS, "| error | when |")}
    assert named == {found.__name__ for found in vars(errors).values() if is_error(found)} - {"ProviderError"}


def is_error(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, errors.ProviderError)


PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*/README.md")])


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())]
    faults = [f"{page}: {link}" for page, link in links if "://" not in link and not (page.parent / link).exists()]
    assert not faults, "\n".join(faults)
