"""Pictures of time series: their scales, gaps and legends."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.charts import axes, page, panels
from tests.charts.panels import Panel, Series, Span

SPAN = Span(1000, 1060, 10)


@pytest.mark.parametrize(
    ("most", "unit", "ticks"),
    [
        (0, "short", ["0", "1"]),
        (1, "short", ["0", "1"]),
        (3, "short", ["0", "1", "2", "3"]),
        (5, "short", ["0", "2", "4", "6"]),
        (0.9, "short", ["0", "0.25", "0.5", "0.75", "1"]),
        (11.2, "s", ["0 s", "5 s", "10 s", "15 s"]),
        (0.05, "s", ["0 s", "20 ms", "40 ms", "60 ms"]),
        (130 * 2**20, "bytes", ["0 B", "50 MiB", "100 MiB", "150 MiB"]),
        (1, "bool_yes_no", ["No", "Yes"]),
    ],
)
def test_a_scale_has_round_numbers(most: float, unit: str, ticks: list[str]) -> None:
    found = axes.find_ticks(most, unit)
    assert [axes.format_value(tick, unit) for tick in found] == ticks
    assert found[-1] >= most


def test_times_are_round_and_few() -> None:
    times = axes.find_times(1000.5, 1250)
    assert axes.format_times(times) == ["00:17", "00:18", "00:19", "00:20"]
    assert axes.format_times([1020, 1025]) == ["00:17:00", "00:17:05"]


def draw(*series: Series, title: str = "Jobs", is_stacked: bool = False) -> str:
    return panels.draw(Panel(title, "short", series, 0, 0, 400, 200, is_stacked=is_stacked), SPAN)


def test_a_line_ends_where_there_is_nothing_and_one_point_alone_is_a_dot() -> None:
    drawn = draw(Series("a", [(1000, 1), (1010, 1), (1040, 2), (1050, 2)]), Series("b", [(1020, 1)]))
    assert drawn.count('class="line"') == 2
    assert drawn.count("<circle") == 1


def test_stacked_areas_lie_on_one_another() -> None:
    drawn = draw(Series("a", [(1000, 1), (1010, 1)]), Series("b", [(1000, 2), (1010, 2)]), is_stacked=True)
    first, second = re.findall(r'class="area" fill="#\w+" d="M([^Z]+)Z"', drawn)
    upper, lower = (area.split("L") for area in (first, second))
    assert upper[:2] == lower[:1:-1]


def test_a_legend_says_how_many_lines_it_has_no_room_for() -> None:
    drawn = draw(*(Series(f"series-{number:02}", [(1000, 1)]) for number in range(20)))
    texts = re.findall(r'class="legend"[^>]*>([^<]*)<', drawn)
    assert texts[-1].endswith(f" … and {20 - len(texts)} more")


def test_a_picture_is_xml_and_says_where_it_comes_from() -> None:
    empty = Panel("<b> & none", "s", [], 0, 0, 400, 200)
    drawn = page.draw("Nestor", "by tests", [empty], SPAN, 400)
    words = [item.text for item in ElementTree.fromstring(drawn).iter() if item.text]
    assert {"Nestor", "by tests", "<b> & none", "No data"} <= set(words)
