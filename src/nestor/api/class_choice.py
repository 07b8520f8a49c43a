"""Which class a job has. Pure."""

from collections.abc import Iterable

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, spec_of, status_of

FALLBACK = "default"
"""Name of the default class where no class has the annotation."""


def find_class_name(job: Object, default: str = "") -> str:
    """The class of a job: the one that it names, the one that it has been given, or else `default`."""
    return str(spec_of(job).get("className") or status_of(job).get("className") or default)


def read_effective(item: Object | None) -> Object:
    """What a class comes to, or, as long as the operator has not said that, what it says."""
    found: Object = status_of(item).get("effective") or spec_of(item)
    return found


def find_default(items: Iterable[Object]) -> str:
    """The class of jobs that name none: of those with the annotation the newest, as of StorageClasses, the chart's last."""
    marked = [item["metadata"] for item in items if annotations_of(item).get(labels.DEFAULT_CLASS) == "true"]
    marked = [meta for meta in marked if meta["name"] != FALLBACK]
    # Of two from the same second, the first by name.
    marked.sort(key=lambda meta: str(meta["name"]))
    return str(max(marked, key=lambda meta: str(meta.get("creationTimestamp", "")), default={"name": FALLBACK})["name"])
