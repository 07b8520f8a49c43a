"""One panel: title, scales, lines or stacked areas, legend. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tests.charts import axes

Point = tuple[float, float]
COLORS = (
    "#3274d9", "#37872d", "#e0752d", "#8f3bb8", "#c4162a", "#0d9aa8", "#c79a00", "#e05a9c", "#5a6773", "#7a5c3e", "#86b82f",
    "#1f4e9a", "#b36ae2", "#ff9830", "#2f9e78", "#9c2b2b",
)  # fmt: skip
LETTER = 6.5
"""Width of a letter, about, in the font of legends; in that of titles, it is a quarter wider."""
TITLE = 13
HEADROOM = 1.06
"""So that a line at the highest number of the scale is seen."""
LEFT, RIGHT, TOP, BOTTOM, ROW, ROWS = 54, 14, 34, 22, 16, 3
"""Room around the lines, and for the rows of the legend."""


@dataclass(frozen=True)
class Series:
    """One line. `points`: times in seconds since the epoch, and values."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Panel:
    """What is drawn, and where: `x`, `y`, `width` and `height` in pixels."""

    title: str
    unit: str
    series: Sequence[Series]
    x: float
    y: float
    width: float
    height: float
    is_stacked: bool = False


@dataclass(frozen=True)
class Span:
    """The time that is shown, in seconds since the epoch; `step` lies between two points of a line."""

    start: float
    end: float
    step: float


@dataclass(frozen=True)
class _Plot:
    """The rectangle of the lines, and its scales."""

    left: float
    top: float
    width: float
    height: float
    most: float
    span: Span

    def x(self, time: float) -> float:
        return self.left + self.width * (time - self.span.start) / (self.span.end - self.span.start)

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - min(value, self.most) / self.most)

    def at(self, point: Point) -> str:
        return f"{self.x(point[0]):.1f},{self.y(point[1]):.1f}"


def draw(panel: Panel, span: Span) -> str:
    """The panel as a group of SVG elements."""
    legend = _lay_out_legend(panel)
    ticks = axes.find_ticks(_find_most(panel), panel.unit)
    height = panel.height - TOP - BOTTOM - max(1, len(legend)) * ROW
    plot = _Plot(LEFT, TOP, panel.width - LEFT - RIGHT, height, HEADROOM * ticks[-1], span)
    name, room = axes.NAMES.get(panel.unit), panel.width - 24
    size = min(TITLE, TITLE * room / (len(panel.title) * LETTER * 1.27))
    unit = f'<tspan class="unit" dx="6">{name}</tspan>' if name else ""
    parts = [
        f'<rect class="panel" width="{panel.width:g}" height="{panel.height:g}" rx="3"/>',
        f'<text class="title" x="12" y="20" style="font-size:{size:.1f}px">{escape(panel.title)}{unit}</text>',
        *_draw_scales(plot, ticks, panel.unit),
        *(_draw_areas(panel, plot) if panel.is_stacked else _draw_lines(panel, plot)),
        *_draw_legend(panel, legend),
    ]
    if not panel.series:
        parts.append(f'<text class="none" x="{LEFT + plot.width / 2:g}" y="{TOP + plot.height / 2:g}">No data</text>')
    return f'<g transform="translate({panel.x:g},{panel.y:g})">{"".join(parts)}</g>'


def _find_most(panel: Panel) -> float:
    if not panel.is_stacked:
        return max((value for series in panel.series for _, value in series.points), default=0)
    sums: dict[float, float] = {}
    for series in panel.series:
        for time, value in series.points:
            sums[time] = sums.get(time, 0) + value
    return max(sums.values(), default=0)


def _draw_scales(plot: _Plot, ticks: Sequence[float], unit: str) -> list[str]:
    right = plot.left + plot.width
    parts = []
    for tick in ticks:
        y = f"{plot.y(tick):.1f}"
        parts.append(f'<path class="grid" d="M{plot.left} {y}H{right:g}"/>')
        parts.append(f'<text class="scale" x="{plot.left - 6}" y="{y}" dy="4">{axes.format_value(tick, unit)}</text>')
    times = axes.find_times(plot.span.start, plot.span.end)
    for time, words in zip(times, axes.format_times(times), strict=True):
        parts.append(f'<path class="grid" d="M{plot.x(time):.1f} {plot.top}v{plot.height:g}"/>')
        at = f'x="{plot.x(time):.1f}" y="{plot.top + plot.height + 15:g}"'
        parts.append(f'<text class="time" {at}>{words}</text>')
    return parts


def _draw_lines(panel: Panel, plot: _Plot) -> list[str]:
    parts = []
    for index, series in enumerate(panel.series):
        for run in _split(series.points, plot.span.step):
            parts.append(_draw_run(run, plot, COLORS[index % len(COLORS)]))
    return parts


def _draw_run(run: Sequence[Point], plot: _Plot, color: str) -> str:
    if len(run) == 1:
        x, y = plot.at(run[0]).split(",")
        return f'<circle cx="{x}" cy="{y}" r="1.6" fill="{color}"/>'
    return f'<path class="line" stroke="{color}" d="M{"L".join(plot.at(point) for point in run)}"/>'


def _split(points: Sequence[Point], step: float) -> list[list[Point]]:
    """The points without a gap between them."""
    runs: list[list[Point]] = []
    for point in points:
        if not runs or point[0] - runs[-1][-1][0] > 1.5 * step:
            runs.append([])
        runs[-1].append(point)
    return runs


def _draw_areas(panel: Panel, plot: _Plot) -> list[str]:
    """One on top of the other; a series that has no value at a time has no height there."""
    times = sorted({time for series in panel.series for time, _ in series.points})
    below = dict.fromkeys(times, 0.0)
    parts = []
    for index, series in enumerate(panel.series):
        known, color = dict(series.points), COLORS[index % len(COLORS)]
        above = {time: below[time] + known.get(time, 0) for time in times}
        for run in _split([(time, above[time]) for time in times if time in known], plot.span.step):
            back = [(time, below[time]) for time, _ in reversed(run)]
            area = "L".join(plot.at(point) for point in [*run, *back])
            parts.append(f'<path class="area" fill="{color}" d="M{area}Z"/>')
            parts.append(_draw_run(run, plot, color))
        below = above
    return parts


def _lay_out_legend(panel: Panel) -> list[list[tuple[int, float]]]:
    """Which series each row has, and where it begins. What finds no room is counted behind the last one."""
    rows: list[list[tuple[int, float]]] = []
    x = panel.width
    for index, series in enumerate(panel.series):
        width = 26 + len(series.name) * LETTER
        if x + width > panel.width - RIGHT:
            rows.append([])
            x = 12.0
        rows[-1].append((index, x))
        x += width
    return rows[:ROWS]


def _draw_legend(panel: Panel, rows: Sequence[Sequence[tuple[int, float]]]) -> list[str]:
    parts = []
    shown = sum(len(row) for row in rows)
    for number, row in enumerate(rows):
        y = panel.height - 9 - (len(rows) - 1 - number) * ROW
        for index, x in row:
            name = panel.series[index].name
            is_last = index == shown - 1 and shown < len(panel.series)
            more = f" … and {len(panel.series) - shown} more" if is_last else ""
            parts.append(f'<rect x="{x:g}" y="{y - 5:g}" width="12" height="3" fill="{COLORS[index % len(COLORS)]}"/>')
            parts.append(f'<text class="legend" x="{x + 17:g}" y="{y:g}">{escape(name)}{more}</text>')
    return parts
