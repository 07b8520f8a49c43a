"""The page about jobs is that of its record; processor time is attributed to what took it."""

import json
import xml.etree.ElementTree as ET

import pytest

from benchmarks.jobs import page
from benchmarks.jobs.measure import FOLDER
from benchmarks.jobs.processes import SHORT, account, name, parse
from nestor.api.objects import Object

RECORD: Object = json.loads((FOLDER / "speed.json").read_text())


def test_the_page_and_the_picture_are_those_of_the_record() -> None:
    assert (FOLDER / "speed.md").read_text() == page.build_page(RECORD)
    picture = page.build_picture(RECORD["runs"])
    assert (FOLDER / "speed.svg").read_text() == picture
    assert ET.fromstring(picture).tag.endswith("svg")


def run(at_once: int, p99: float) -> Object:
    return {"atOnce": at_once, "jobs": {"stages": {"ready": {"p99": p99}}}}


@pytest.mark.parametrize(("runs", "found"), [([(1, 2), (2, 3.9), (8, 4)], 8), ([(1, 2), (4, 3)], None), ([(4, 3)], None)])
def test_density_is_where_p99_has_doubled(runs: list[tuple[int, float]], found: int | None) -> None:
    assert page.find_density([run(*item) for item in runs]) == found


def test_a_process_is_read_whatever_its_name() -> None:
    fields = "S 7 1 1 0 -1 0 0 0 0 0 150 50 300 100 20 0 1 0 4711 0"
    found = parse(42, f"42 (a) b) {fields}")
    assert (found.pid, found.parent, found.start, found.own, found.ended) == (42, 7, 4711, 2.0, 4.0)


@pytest.mark.parametrize(
    ("argv", "is_of_job", "found"),
    [
        (["/cache/bin/kube", "kubelet", "--v=1"], False, "host: kube kubelet"),
        (["/bin/k3s", "server"], True, "job: k3s server"),
        (["/opt/nestor/bin/python", "/opt/nestor/bin/nestor", "syncer"], True, "job: syncer"),
        (["/usr/bin/python3", "-m", "nestor", "operator"], False, "host: operator"),
        (["python3.11", "-m", "devcluster.cluster.ingress", "--x"], False, "host: ingress"),
        ([""], False, "host: ?"),
    ],
)
def test_processes_are_named_by_what_they_are(argv: list[str], is_of_job: bool, found: str) -> None:
    assert name(argv, is_of_job=is_of_job) == found


def test_what_was_never_seen_is_told_apart() -> None:
    found = account({(1, 1): 5.0}, {(1, 1): ("a", 6.0), (2, 1): ("a", 0.5), (3, 1): ("b", 2.0)}, 4.0)
    assert found == {"a": 1.5, "b": 2.0, SHORT: 0.5}
