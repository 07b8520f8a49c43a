"""A job's pods by place, and why some of them wait. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from nestor.api import labels, pod_status
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of, status_of
from nestor.api.words import HOST
from nestor.clients.cli.view.facts import Mood, describe_trouble, list_places
from nestor.clients.ui.models.progress import State

WAITING = "Waiting for a node"
_MOODS: dict[str, Mood] = {"Running": "good", "Succeeded": "good", "Failed": "bad", "Pending": "busy"}
_SERVERS = {
    labels.COMPONENT_SERVER: "the cluster itself",
    labels.COMPONENT_RUNNER: "applies the steps",
    labels.COMPONENT_READER: "reads the AppDef",
}


@dataclass(frozen=True)
class Pod:
    name: str
    """In the host cluster."""
    title: str
    """As the application names it."""
    space: str
    state: State
    node: str
    why: str


@dataclass(frozen=True)
class Place:
    title: str
    pods: tuple[Pod, ...]
    why: str = ""


def group_pods(pods: list[Object], backends: Mapping[str, str], job: Object) -> list[Place]:
    """The pods by place: here, each backend, those that wait for a node, and Nestor's own. `backends`: by virtual node."""
    own = [pod for pod in pods if labels_of(pod).get(labels.COMPONENT) in _SERVERS]
    places: dict[str, list[Object]] = {}
    for pod in pods:
        if pod not in own:
            node = spec_of(pod).get("nodeName")
            places.setdefault(name_place(backends.get(node, HOST)) if node else WAITING, []).append(pod)
    reasons = {name_place(str(item.get("name"))): str(item.get("reason") or "") for item in list_places(job)}
    here = name_place(HOST)
    ordered = sorted(places, key=lambda title: (title == WAITING, title != here, title))
    found = [Place(title, _build_all(places[title]), reasons.get(title, "")) for title in ordered]
    return found + ([Place("System pods", _build_all(own))] if own else [])


def _build_all(pods: list[Object]) -> tuple[Pod, ...]:
    return tuple(sorted((_build(pod) for pod in pods), key=lambda pod: (pod.space, pod.title)))


def _build(pod: Object) -> Pod:
    meta, notes = pod["metadata"], annotations_of(pod)
    role = _SERVERS.get(labels_of(pod).get(labels.COMPONENT, ""))
    reason = notes.get(labels.PLACE_REASON, "")
    trouble = describe_trouble(pod) or ""
    return Pod(
        meta["name"],
        notes.get(labels.NESTED_NAME) or meta["name"],
        role or notes.get(labels.NESTED_NAMESPACE, ""),
        _state(pod, is_troubled=bool(trouble)),
        str(spec_of(pod).get("nodeName") or ""),
        trouble.removeprefix(f"pod '{meta['name']}' ").removeprefix(f"pod '{meta['name']}', ") or reason,
    )


def _state(pod: Object, *, is_troubled: bool) -> State:
    if is_terminating(pod):
        return State("waiting", "ending")
    phase = str(status_of(pod).get("phase") or "Pending")
    if is_troubled and phase in ("Running", "Pending"):
        return State("warn", phase.lower())
    if phase == "Running" and not pod_status.is_ready(pod):
        return State("busy", "not ready yet")
    return State(_MOODS.get(phase, "waiting"), phase.lower())


def list_counts(job: Object) -> list[tuple[str, str]]:
    """Its pods by place, as its status counts them: a place and a sentence."""
    pods = status_of(job).get("pods") or {}
    places = list_places(job)
    found = [(name_place(str(item.get("name") or "")), _count(item)) for item in places]
    waiting = int(pods.get("waiting") or 0) - sum(int(item.get("starting") or 0) for item in places)
    if not places and pods:
        found.append((name_place(HOST), f"{pods.get('running', 0)} running"))
    return found + ([("Waiting for a node", f"{waiting}")] if waiting > 0 else [])


def _count(item: Object) -> str:
    starting = f", {item['starting']} starting" if item.get("starting") else ""
    why = f": {item['reason']}" if item.get("reason") else ""
    return f"{item.get('running', 0)} running{starting}{why}"


def name_place(name: str) -> str:
    return "In this cluster" if name == HOST else f"At backend '{name}'"
