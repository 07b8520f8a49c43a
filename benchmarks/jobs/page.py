"""docs/evidence/speed.md and speed.svg, of the record in speed.json. Pure, but for `write`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nestor.api.objects import Object
from nestor.clients.cli.bench.figures import PERCENTILES, STAGES

_HEAD = """\
# Speed

How long jobs take until their app answers, and how long the same app takes without Nestor: the floor. `make bench NAMES=jobs`
measures it on the embedded cluster and writes this page from [speed.json](speed.json); `nestor bench` measures it on any cluster.

- **The app** is a web server of one pod: as a job with one `kubectl` step, and as a Deployment with a Service and an Ingress.
- **Seconds** count from the request that creates the first object until a watch shows the state, or the URL answers with 200 for
  the first time; **deleted**: from the request until the object is gone, with all pods of a Deployment.
- **At once**: so many apps are created together, and then deleted together; before each such round, as many of the floor.
- **Ratios** compare percentiles of jobs with those of the floor. Of 30 jobs, p99 is nearly the slowest.

In the picture, bars end at p50, lines at p99.
"""
_COSTS = """\
## What a job costs

Seconds of processor time are those of one job from its creation until it is gone. The share is taken by one that runs, over a
minute. Both are beyond what the cluster takes without jobs. Memory is the proportional set size.
"""
_COLORS = {"floor": "#9aa5b1", "clusterReady": "#7fb3d5", "http200": "#274b8f", "gone": "#c98a4b"}
_LABELS = {"floor": "floor: HTTP 200", "clusterReady": "job: cluster ready", "http200": "job: HTTP 200", "gone": "job: deleted"}
_LEFT, _WIDTH, _BAR = 90, 700, 16


def write(folder: Path, record: Object) -> None:
    """The record, the page and the picture."""
    (folder / "speed.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / "speed.md").write_text(build_page(record))
    (folder / "speed.svg").write_text(build_picture(record["runs"]))


def build_page(record: Object) -> str:
    """The page."""
    about = (
        f"Measured on {record['date']} at commit {record['commit']}: {record['cores']} cores ({record['model']}), Kubernetes "
        f"{record['kubernetes']}; nested clusters run the stand-in for K3s. {record['note']}"
    )
    runs: Sequence[Object] = record["runs"]
    heads = [f"{place} {percentile}" for place in ("job", "floor", "ratio") for percentile in PERCENTILES]
    parts = [
        _HEAD,
        about.strip(),
        "![Seconds by jobs at once](speed.svg)",
        _table(["at once", "seconds until", *heads], (row for run in runs for row in _list_stages(run))),
        describe_density(runs),
        "\n".join(f"- {run['atOnce']} at once: {_describe_run(run)}" for run in runs),
        _COSTS,
        _table(["process", "seconds for a job", "share of a core, idle", "memory"], _list_costs(record)),
        (Path(__file__).parent / "field.md").read_text(),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def find_density(runs: Sequence[Object]) -> int | None:
    """How many jobs at once double p99 of one alone; None: none of those that were measured."""
    times = {run["atOnce"]: (run["jobs"]["stages"].get("http200") or run["jobs"]["stages"]["ready"])["p99"] for run in runs}
    return next((number for number, found in sorted(times.items()) if 1 in times and found >= 2 * times[1]), None)


def describe_density(runs: Sequence[Object]) -> str:
    """In words."""
    found, most = find_density(runs), max(run["atOnce"] for run in runs)
    return (
        f"With {found} jobs at once, p99 is at least twice that of one alone."
        if found
        else f"Up to {most} at once, p99 does not double."
    )


def _describe_run(run: Object) -> str:
    jobs, floor = run["jobs"], run["floor"]
    return f"{len(jobs['seconds'])} jobs; failed: {len(jobs['failed'])}, of the floor {len(floor['failed'])}; {run['load']}."


def _list_stages(run: Object) -> Iterable[list[str]]:
    parts = (run["jobs"]["stages"], run["floor"]["stages"], run["ratios"])
    for stage in [stage for stage in STAGES if stage in parts[0]]:
        cells = [f"{part[stage][name]:.1f}" if stage in part else "" for part in parts for name in PERCENTILES]
        yield [str(run["atOnce"]), STAGES[stage], *cells]


def _list_costs(record: Object) -> Iterable[list[str]]:
    """The sums first; what is nearly nothing is in them alone."""
    costs = [
        (record["processor"], 1, 0.05, "{:.2f} s"),
        (record["idle"], 100, 0.1, "{:.1f} %"),
        (record["memory"], 1, 1, "{:.0f} MB"),
    ]
    whole = {"**all**": [sum(found.values()) * factor for found, factor, *_ in costs]}
    names = sorted({who for found, *_ in costs for who in found}, key=lambda who: -record["processor"].get(who, 0))
    for who, numbers in (whole | {who: [found.get(who, 0) * factor for found, factor, *_ in costs] for who in names}).items():
        cells = [form.format(number) if number >= least else "" for number, (*_, least, form) in zip(numbers, costs, strict=True)]
        if any(cells):
            yield [who, *cells]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def build_picture(runs: Sequence[Object]) -> str:
    """Bars to p50, lines on to p99, by jobs at once."""
    bars = [(run["atOnce"], what, found) for run in runs for what, found in _find_bars(run).items()]
    scale = (_WIDTH - _LEFT - 60) / max(found["p99"] for *_, found in bars)
    parts, top = [], 30
    for index, (at_once, what, found) in enumerate(bars):
        if index and bars[index - 1][0] != at_once:
            top += _BAR
        if not index or bars[index - 1][0] != at_once:
            parts.append(f'<text x="4" y="{top + 12}">{at_once} at once</text>')
        half, end, middle = (_LEFT + found["p50"] * scale, _LEFT + found["p99"] * scale, top + _BAR / 2 - 1)
        parts += [
            f'<rect x="{_LEFT}" y="{top}" width="{half - _LEFT:.1f}" height="{_BAR - 2}" fill="{_COLORS[what]}"/>',
            f'<path d="M{half:.1f} {middle}H{end:.1f}" stroke="{_COLORS[what]}" stroke-width="2"/>',
            f'<text x="{end + 4:.1f}" y="{top + 12}">{found["p50"]:.1f} s</text>',
        ]
        top += _BAR
    legend = "".join(
        f'<rect x="{_LEFT + 150 * index}" y="4" width="10" height="10" fill="{_COLORS[what]}"/>'
        f'<text x="{_LEFT + 14 + 150 * index}" y="13">{label}</text>'
        for index, (what, label) in enumerate(_LABELS.items())
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + 8}" font-family="sans-serif" font-size="11">'
    title = "<title>Seconds: bars to p50, lines to p99</title>"
    return "\n".join([head, title, '<rect width="100%" height="100%" fill="white"/>', legend, *parts, "</svg>"]) + "\n"


def _find_bars(run: Object) -> dict[str, Mapping[str, float]]:
    jobs, floor = run["jobs"]["stages"], run["floor"]["stages"]
    found = {"floor": floor.get("http200")} | {stage: jobs.get(stage) for stage in ("clusterReady", "http200", "gone")}
    return {what: figures for what, figures in found.items() if figures}
