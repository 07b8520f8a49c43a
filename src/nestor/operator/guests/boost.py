"""Gives back the processor time with which a nested cluster has started."""

import datetime

from nestor.api import names, pod_status
from nestor.api.objects import Object, conditions_of, spec_of
from nestor.api.times import now, seconds_since
from nestor.cluster.home import Home
from nestor.kube import kinds
from nestor.operator.admission.admit import Resolved
from nestor.operator.clusters.homes import build_shape, end_boost
from nestor.operator.guest import Guest, Word

STEPS_SECONDS = 60.0
"""For how long a ready cluster may keep its start's processor time. Steps may wait for hours."""


def find_rest(server: Object | None, runner: Object | None, at: datetime.datetime) -> float | None:
    """For how many seconds a ready server's pod keeps the processor time of its start: while the runner works. None: it starts.

    Steps take as much as the start does. Without it, the clusters that start next would starve this one, and all jobs of a burst
    be ready at its end. A runner without a node gets none by waiting.
    """
    if server is None or not pod_status.is_ready(server):
        return None
    if runner is None or not spec_of(runner).get("nodeName") or pod_status.is_terminal(runner):
        return 0
    (ready,) = (item for item in conditions_of(server) if item["type"] == "Ready")
    return max(0, STEPS_SECONDS - seconds_since(ready["lastTransitionTime"], at))


class StartBoost(Guest):
    """The server's pods that are ready, and whose steps are applied."""

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        context, (server, rest) = self._context, self._look(home)
        if server is None or rest != 0:
            return
        await end_boost(context, build_shape(context, resolved.cluster, home, resolved.policy), server)

    def report(self, resolved: Resolved) -> Word | None:
        _, rest = self._look(resolved.home)
        return Word(retry_after=rest) if rest else None

    def _look(self, home: Home) -> tuple[Object | None, float | None]:
        """The server's pod, and its `find_rest`."""
        server, runner = (
            self._context.cache.find(kinds.POD, name, home.namespace)
            for name in (names.server_pod(home.name), home.child(names.Part.RUNNER))
        )
        return server, find_rest(server, runner, now())
