"""What measured times come to: percentiles, and ratios to the same app without Nestor, the floor. Pure."""

from collections.abc import Mapping, Sequence

Figures = dict[str, dict[str, float]]
"""By stage and percentile."""
STAGES = {"clusterReady": "cluster ready", "ready": "reported ready", "http200": "HTTP 200", "gone": "deleted"}
"""Since the app was applied; the last one since its deletion."""
PERCENTILES = {"p50": 50, "p90": 90, "p99": 99}


def summarize(apps: Sequence[Mapping[str, float]]) -> Figures:
    """Of seconds by stage."""
    times = {stage: [app[stage] for app in apps if stage in app] for stage in STAGES}
    return {
        stage: {name: cut(found, percent) for name, percent in PERCENTILES.items()} for stage, found in times.items() if found
    }


def cut(times: Sequence[float], percent: float) -> float:
    """The percentile, between two times in proportion."""
    ordered = sorted(times)
    place = (len(ordered) - 1) * percent / 100
    low, high = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
    return round(low + (high - low) * (place - int(place)), 3)


def compare(jobs: Figures, floor: Figures) -> Figures:
    """How many times as long jobs take, in the stages that both have."""
    both = [stage for stage in jobs if stage in floor and all(floor[stage].values())]
    return {stage: {name: round(jobs[stage][name] / floor[stage][name], 2) for name in PERCENTILES} for stage in both}
