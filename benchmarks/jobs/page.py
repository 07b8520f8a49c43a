"""docs/evidence/speed.md and speed.svg, of the record in speed.json. Pure, but for `write`."""

from __future__ import annotations

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
"""
_FIELD = (Path(__file__).parent / "field.md").read_text()
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
        f"Measured on {record['date']} at commit {record['commit']}: {record['cores']} cores ({record['processor']}), Kubernetes "
        f"{record['kubernetes']}; nested clusters run the stand-in for K3s. {record.get('note', '')}".rstrip()
    )
    processor, idle = (_keep(record[key], least) for key, least in (("processor", 0.05), ("idle", 0.001)))
    parts = [
        _HEAD,
        about,
        "![Seconds by jobs at once](speed.svg)",
        "## Jobs",
        _table(["at once", "seconds until", *_heads("job"), *_heads("floor"), *_heads("ratio")], _list_runs(record["runs"])),
        describe_density(record["runs"]),
        "\n".join(f"- {run['atOnce']} at once: {_describe_run(run)}" for run in record["runs"]),
        "## Processor time",
        "Of one job from its creation until it is gone, without what the cluster takes when idle.",
        _table(["process", "seconds"], [[who, f"{seconds:.2f}"] for who, seconds in processor.items()]),
        "## A job that runs",
        "Memory is the proportional set size. The idle share is that of one core, over a minute, beyond what the cluster takes "
        "without the job.",
        _table(["process", "idle share", "memory"], _list_idle(idle, record["memory"])),
        _FIELD.strip(),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def find_density(runs: Sequence[Object]) -> int | None:
    """How many jobs at once double p99 of one alone; None: none of those that were measured."""
    times = {run["atOnce"]: _last(run)["p99"] for run in runs}
    return next((number for number, found in sorted(times.items()) if 1 in times and found >= 2 * times[1]), None)


def describe_density(runs: Sequence[Object]) -> str:
    """In words."""
    most = max(run["atOnce"] for run in runs)
    found = find_density(runs)
    return (
        f"With {found} jobs at once, p99 is twice that of one alone." if found else f"Up to {most} at once, p99 does not double."
    )


def _last(run: Object) -> Mapping[str, float]:
    """The answer, or where none can be seen, the report."""
    stages: Object = run["jobs"]["stages"]
    found: Mapping[str, float] = stages.get("http200") or stages["ready"]
    return found


def _describe_run(run: Object) -> str:
    failed = [len(run[place]["failed"]) for place in ("jobs", "floor")]
    said = ", ".join(f"{count} failed {word}" for count, word in zip(failed, ("jobs", "of the floor"), strict=True))
    return f"{len(run['jobs']['seconds'])} jobs measured, {said}; {run['load']}."


def _heads(word: str) -> list[str]:
    return [f"{word} {percentile}" for percentile in PERCENTILES]


def _list_runs(runs: Iterable[Object]) -> list[list[str]]:
    rows = []
    for run in runs:
        parts = (run["jobs"]["stages"], run["floor"]["stages"], run["ratios"])
        for stage, title in STAGES.items():
            if stage in parts[0]:
                cells = [f"{part[stage][name]:.1f}" if stage in part else "" for part in parts for name in PERCENTILES]
                rows.append([str(run["atOnce"]), title, *cells])
    return rows


def _keep(found: Mapping[str, float], least: float) -> dict[str, float]:
    """The largest first, their sum as the first of all; what is nearly nothing is in the sum."""
    large = {who: number for who, number in sorted(found.items(), key=lambda item: -item[1]) if number >= least}
    return {"**all**": sum(found.values())} | large


def _list_idle(idle: Mapping[str, float], memory: Mapping[str, float]) -> list[list[str]]:
    sizes = _keep(memory, 0)
    names = [*idle, *(who for who in sizes if who not in idle)]
    return [
        [who, f"{100 * idle[who]:.2f} %" if who in idle else "", f"{sizes[who]:.0f} MB" if who in sizes else ""] for who in names
    ]


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
