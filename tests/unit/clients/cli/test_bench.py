"""What measured times come to."""

import pytest

from nestor.clients.cli.bench import figures


@pytest.mark.parametrize(
    ("times", "percent", "found"),
    [([3.0], 99, 3.0), ([1.0, 3.0], 50, 2.0), ([4.0, 1.0, 2.0, 3.0], 90, 3.7), ([float(i) for i in range(101)], 99, 99.0)],
    ids=["one", "two", "unsorted", "many"],
)
def test_percentiles(times: list[float], percent: int, found: float) -> None:
    assert figures.cut(times, percent) == pytest.approx(found)


def test_stages_that_both_have_are_compared() -> None:
    jobs = figures.summarize([{"clusterReady": 4.0, "ready": 6.0, "gone": 2.0}, {"ready": 6.0, "gone": 4.0}])
    floor = figures.summarize([{"ready": 1.5, "gone": 0.0}])
    assert jobs["clusterReady"] == {"p50": 4.0, "p90": 4.0, "p99": 4.0}
    assert jobs["gone"]["p50"] == 3.0
    assert figures.compare(jobs, floor) == {"ready": {"p50": 4.0, "p90": 4.0, "p99": 4.0}}
