"""What the kubelet's probes and metrics hear of this process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nestor.kube import Informer
from nestor.kube.serving import pages
from nestor.kube.serving.pages import STALE_SECONDS
from nestor.overflow.vnode.api import NodeApi
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.backend.view import BackendView
from nestor.overflow.vnode.nodes import Nodes
from nestor.overflow.vnode.pods.controller import PodController
from nestor.overflow.vnode.pods.poll import StatusPoller


@dataclass
class State:
    """The parts of the process, as far as they exist yet."""

    problem: str = "starting"
    """Why the process has not got as far as making its parts."""
    view: BackendView | None = None
    nodes: Nodes | None = None
    server: NodeApi | None = None
    health: Health | None = None
    pods: PodController | None = None
    poller: StatusPoller | None = None

    def find_unready(self) -> str | None:
        """Why pods that are bound now would not be run, as far as that is this process's affair."""
        parts = (self.nodes, self.server)
        return self.problem or next((text for part in parts if part is not None and (text := part.find_problem())), None)

    def find_stale(self) -> str | None:
        """Why the process should be started again, if so."""
        found = max(self._informers(), key=lambda item: item.silence, default=None)
        if found is None or found.silence < STALE_SECONDS:
            return None
        return f"a watch of {found.kind.plural} went silent"

    def write_metrics(self) -> str:
        lines = ["# TYPE nestor_vnode_ready gauge", f"nestor_vnode_ready {int(self.find_unready() is None)}"]
        if self.health is not None:
            lines += [
                "# TYPE nestor_vnode_backend_answers gauge",
                f"nestor_vnode_backend_answers {int(self.health.is_answering)}",
            ]
        if self.pods is not None:
            queues = {"pods": self.pods.queue, "pod-creations": self.pods.creations}
            lines += ["# TYPE nestor_vnode_queue_length gauge"]
            lines += [f'nestor_vnode_queue_length{{queue="{name}"}} {len(queue)}' for name, queue in queues.items()]
            counts = Counter((entry.home.node, entry.mark or "Unsent") for entry in self.pods.registry)
            lines += ["# TYPE nestor_vnode_pods gauge"]
            lines += [
                f'nestor_vnode_pods{{node="{node}",state="{mark}"}} {count}' for (node, mark), count in sorted(counts.items())
            ]
        if self.poller is not None:
            lines += ["# TYPE nestor_vnode_status_calls_total counter", f"nestor_vnode_status_calls_total {self.poller.calls}"]
        lines += ["# TYPE nestor_vnode_watch_silence_seconds gauge"]
        lines += [
            f'nestor_vnode_watch_silence_seconds{{resource="{item.kind.plural}",selector="{item.fields}"}} {item.silence:.1f}'
            for item in self._informers()
        ]
        return "\n".join(lines) + "\n"

    def write_caches(self) -> str:
        """See `nestor.kube.serving.pages`."""
        return pages.write_caches({"host": self._informers()}, [self.pods.queue, self.pods.creations] if self.pods else [])

    def _informers(self) -> list[Informer]:
        own = [self.view.informer] if self.view is not None else []
        return own + (self.nodes.informers if self.nodes is not None else [])
