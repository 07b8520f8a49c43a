"""Where a job's pods are, told as it changes. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nestor.api import labels
from nestor.api.objects import annotations_of, status_of
from nestor.pods.translate.placement import explain

Object = dict[str, Any]

HERE = "here"
_ENDED = ("Succeeded", "Failed")


@dataclass
class Places:
    """Remembers where pods went. `nodes`: the host cluster's nodes with the backend of each, empty for its own ones."""

    nodes: Mapping[str, str]
    found: dict[str, str] = field(default_factory=dict)
    """The place of each pod that has had a node, by its nested name."""
    _counts: str = ""

    def tell(self, pods: Iterable[Object]) -> list[str]:
        """What is new, in lines: the place of each pod, why it is there, and how many there are in each place."""
        listed = list(pods)
        lines = [line for pod in listed if (line := self._place(pod))]
        counts = self._count(listed)
        if counts != self._counts:
            self._counts = counts
            lines.append(counts)
        return lines

    def summarize(self) -> list[str]:
        """How many pods each place has had, the host cluster first."""
        counts = Counter(self.found.values())
        places = [HERE, *sorted(name for name in set(self.nodes.values()) if name)]
        width = max(len(name) for name in places)
        return [f"{name:{width}}  {counts[name]}" for name in places]

    def _place(self, pod: Object) -> str:
        name, node = annotations_of(pod).get(labels.NESTED_NAME, ""), pod["spec"].get("nodeName")
        if not name or node not in self.nodes or name in self.found:
            return ""
        backend = self.nodes[node]
        self.found[name] = backend or HERE
        return f"{name} goes to backend '{backend}': {explain(pod)}" if backend else f"{name} stays, on node '{node}'"

    def _count(self, pods: Iterable[Object]) -> str:
        present = [pod for pod in pods if status_of(pod).get("phase") not in _ENDED]
        where = Counter(self.nodes.get(pod["spec"].get("nodeName") or "") for pod in present)
        parts = [f"{where['']} here", *(f"{where[name]} at '{name}'" for name in sorted(set(self.nodes.values())) if name)]
        waiting = f", {where[None]} without a node" if where[None] else ""
        return f"pods: {', '.join(parts)}{waiting}"
