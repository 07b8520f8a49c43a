"""What Prometheus is told of the operator: read from its caches when it asks. No label has a value that users choose."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from nestor import __version__
from nestor.api import conditions
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.kube import Informer, WorkQueue
from nestor.kube.serving import pages
from nestor.kube.serving.pages import Family, Samples
from nestor.operator.world.context import Context

State = Literal["New", "Refused", "Queued", "Starting", "Ready", "NotReady", "Suspended", "Succeeded", "Failed", "Terminating"]
HELD_UP = {row for row in conditions.REASONS if row.needs != "nobody"}
STATES: tuple[State, ...] = State.__args__  # type: ignore[attr-defined]


def find_state(job: Object) -> State:
    """Where a job is, in one word. `NotReady`: it has been ready before."""
    status = status_of(job)
    admitted, ready, succeeded = (
        conditions.find(conditions_of(job), kind) or {} for kind in (conditions.ADMITTED, conditions.READY, conditions.SUCCEEDED)
    )
    if is_terminating(job):
        return "Terminating"
    if status.get("completionTime"):
        return "Succeeded" if succeeded.get("status") == "True" else "Failed"
    if admitted.get("reason") in conditions.WAITS:
        return "Queued"
    if admitted.get("status") == "False" and not status.get("startTime"):
        return "Refused"
    if status.get("suspendTime"):
        return "Suspended"
    if ready.get("status") == "True":
        return "Ready"
    if not status.get("startTime"):
        return "New"
    return "NotReady" if (status.get("timings") or {}).get(conditions.READY.timing) else "Starting"


def write_standby() -> str:
    return pages.write_metrics([_BUILD, _lead(works=False)])


def write_page(context: Context, queue: WorkQueue[Any], guests: Iterable[Family]) -> str:
    return pages.write_metrics([_BUILD, _lead(works=True), *_measure(context, queue), *guests], context.meters.registry)


def _gauge(name: str, words: str, samples: Samples, *label_names: str) -> Family:
    return Family(f"nestor_{name}", "gauge", words, label_names, samples)


_BUILD = _gauge("build_info", "The operator's version.", {(__version__,): 1}, "version")


def _measure(context: Context, queue: WorkQueue[Any]) -> Iterator[Family]:
    cache = context.cache
    classes = {item["metadata"]["name"] for item in cache.classes}
    yield _gauge("jobs", "Jobs, by what they are at.", _count_jobs(context, classes), "class", "state")
    yield _gauge(
        "jobs_held_up", "Jobs that are blocked until a user or an admin acts.", _count_held_up(context), "reason", "needs"
    )
    enforced = _read_conditions(cache.classes, conditions.NETWORK_ENFORCED)
    yield _gauge("class_network_enforced", "Whether the host is known to enforce NetworkPolicies.", enforced, "class")
    yield from _measure_backends(context.cache.backends)
    yield _gauge("operator_queue_length", "Objects that wait for a pass, or have one.", {(): len(queue)})
    yield _gauge("operator_oldest_change_seconds", "Age of the oldest change without a pass.", {(): queue.oldest})
    yield _gauge(
        "operator_watch_silence_seconds",
        "Since the API server last said anything in a watch: an event, a bookmark, or a list.",
        {(kind.plural,): item.silence for kind, item in cache.informers.items()},
        "resource",
    )
    sent: Samples = dict(context.api.requests)
    yield Family("nestor_operator_requests_total", "counter", "Requests to the API server.", ("method", "code"), sent)


def _measure_backends(backends: Informer) -> Iterator[Family]:
    for kind, words in (
        (conditions.READY, "Whether the backend's nodes take pods."),
        (conditions.REACHABLE, "Whether it answers."),
    ):
        yield _gauge(f"backend_{kind.lower()}", words, _read_conditions(backends, kind), "backend")
    left: Samples = {(item["metadata"]["name"],): len(status_of(item).get("unconfirmedPods") or ()) for item in backends}
    yield _gauge("backend_unconfirmed_pods", "Pods that should have ended, and may still run there.", left, "backend")
    states = ("Ready", "NotReady", "Draining", "Refused")
    nodes: Samples = {(item["metadata"]["name"], state): 0 for item in backends for state in states}
    for item in backends:
        for node in status_of(item).get("nodes") or ():
            nodes[item["metadata"]["name"], str(node.get("state"))] += 1
    yield _gauge("backend_nodes", "Its virtual nodes.", nodes, "backend", "state")


def _count_jobs(context: Context, classes: set[str]) -> Samples:
    """By class, if there is such a class: what users write may be any word."""
    found: Samples = {(name, state): 0 for name in sorted(classes) for state in STATES}
    for job in context.cache.jobs:
        name = str(status_of(job).get("className") or "")
        key = (name if name in classes else "", find_state(job))
        found[key] = found.get(key, 0) + 1
    return found


def _count_held_up(context: Context) -> Samples:
    found: Counter[tuple[str, ...]] = Counter({(row, row.needs): 0 for row in HELD_UP})
    for job in context.cache.jobs:
        if not status_of(job).get("completionTime"):
            reasons = {conditions.reason_of(item) for item in conditions_of(job) if item.get("status") != "True"}
            found.update((row, row.needs) for row in reasons & HELD_UP)
    return dict(found)


def _read_conditions(items: Informer, kind: str) -> Samples:
    return {(item["metadata"]["name"],): conditions.is_true(conditions_of(item), kind) for item in items}


def _lead(*, works: bool) -> Family:
    return _gauge("operator_leader", "Whether this operator works, or waits until another one ends.", {(): works})
