"""Reads what Kueue has admitted: the nodes, and the quota that it has counted."""

from __future__ import annotations

import time
from dataclasses import replace

from nestor.api.assigned import Assigned
from nestor.kube import Kind, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.objects import Object, spec_of
from nestor.operator.admission.identity import JobIdentity
from nestor.operator.admission.turn import Turn
from nestor.operator.guests.kueue import pod_sets, workload
from nestor.operator.world.context import Context


class Admissions:
    """Reads the admissions of Workloads, and the ResourceFlavors that they name."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._flavors: dict[str, tuple[float, Object]] = {}
        """The specs of ResourceFlavors, each with the time when it was read."""

    async def read_turn(self, known: JobIdentity, found: Object, kind: Kind) -> Turn:
        """What the job gets with its turn, as its Workload says."""
        sets = (pod_sets.APP, pod_sets.SERVER, pod_sets.RUNNER)
        names = {name for pod_set in sets for name in workload.list_flavors(found, pod_set)}
        flavors = {name: await self._read_flavor(name, kind) for name in names}
        app, server, runner = (workload.find_nodes(found, pod_set, flavors) for pod_set in sets)
        uncounted = pod_sets.list_uncounted(known.policy, known.spec)
        warnings = [
            f"Kueue does not count the application's {resource}: neither the class nor its machine has a quota for "
            f"`requests.{resource}` or `limits.{resource}`"
            for resource in uncounted
        ]
        granted = pod_sets.find_granted(known.policy, known.spec.machine, workload.list_sets(found))
        assigned = Assigned(workload=found["metadata"]["name"], **vars(app))
        return Turn(assigned, server, runner, granted, tuple(warnings))

    async def _read_flavor(self, name: str, kind: Kind) -> Object:
        """The spec of a ResourceFlavor. It is read again from time to time."""
        at, spec = self._flavors.get(name, (0.0, {}))
        if not at or time.monotonic() - at > RESYNC_SECONDS:
            found = await self._context.api.get(replace(kinds.RESOURCE_FLAVOR, version=kind.version), name)
            spec = spec_of(found)
            self._flavors[name] = (time.monotonic(), spec)
        return spec
