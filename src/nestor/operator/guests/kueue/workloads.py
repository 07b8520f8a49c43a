"""Makes, adopts and deletes the Workloads of jobs, reads what Kueue has admitted, and tells it what became of jobs."""

from dataclasses import replace

from nestor.api import conditions, labels
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, owners_of, spec_of, status_of
from nestor.api.placement_rules import Assigned
from nestor.api.times import timestamp
from nestor.cluster import server
from nestor.kube import Informer, Kind, kinds
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.turn import Turn
from nestor.operator.clusters.homes import build_shape
from nestor.operator.guests.kueue import pod_sets, workload
from nestor.operator.guests.kueue.workload import find_owner_name
from nestor.operator.lifecycle import suspend
from nestor.operator.lifecycle.record import is_running, wants_to_run
from nestor.operator.oneshot import RUNNER_RESOURCES
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import is_managed_elsewhere

SECONDS = 10.0
"""How soon to try again what somebody has to mend."""


class Workloads:
    """Keeps the Workload of a job as what the job needs, and deletes those by which no job runs any more, or will."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def ensure(self, known: JobIdentity, job: Object, informer: Informer) -> Object | None:
        """The job's Workload, as far as it is known; made or changed where that is due. None: there is none yet."""
        found, wanted = informer.get(workload.find_name(job), known.namespace), self._build_pod_sets(known)
        if is_terminating(found):
            return None
        if workload.is_prebuilt(job):
            return await self._adopt(job, found, informer.kind, wanted)
        found = found if workload.is_own(found, job) else None
        if found is not None and workload.has(found, workload.FINISHED):
            await self.delete(found, informer.kind)
            return None
        if found is not None and workload.has(found, workload.RESERVED):
            return await self._check(job, found, informer.kind, wanted)
        body = workload.build_workload(job, informer.kind.api_version, wanted, await self._find_priority(job, informer.kind))
        if found is None or workload.differs(found, body):
            await self._context.api.apply(informer.kind, body)
        return found

    async def delete(self, found: Object, kind: Kind) -> None:
        meta = found["metadata"]
        await self._context.api.delete(kind, meta["name"], meta["namespace"], uid=meta["uid"])

    async def _check(self, job: Object, found: Object, kind: Kind, wanted: list[Object]) -> Object | None:
        """The Workload, if it is still what the job needs. Otherwise it comes anew: what has a reservation cannot be changed."""
        if workload.has(found, workload.EVICTED) or pod_sets.are_same(workload.list_sets(found), wanted):
            return found
        if suspend.is_quiet(self._context.cache, job):
            await self.delete(found, kind)
        return None

    async def _adopt(self, job: Object, found: Object | None, kind: Kind, wanted: list[Object]) -> Object | None:
        """A Workload that was made beforehand: it becomes the job's own, so that it goes with it."""
        if found is None:
            return None
        name, owner = found["metadata"]["name"], find_owner_name(found)
        said = f"Workload '{name}', which the label `{labels.KUEUE_WORKLOAD}` names,"
        if owners_of(found) and not workload.is_own(found, job):
            what = f"NestedAppJob '{owner}'" if owner else "another object"
            raise Refused(conditions.WORKLOAD_CONFLICT, f"{said} belongs to {what}")
        if not pod_sets.are_enough(workload.list_sets(found), wanted):
            raise Refused(conditions.WORKLOAD_CONFLICT, f"{said} asks for less than the job may use")
        if not owners_of(found):
            meta = found["metadata"]
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "ownerReferences": [workload.refer(job)]}}
            await self._context.api.patch(kind, name, meta["namespace"], patch)
            return None
        return found

    def _build_pod_sets(self, known: JobIdentity) -> list[Object]:
        spec = NestedClusterSpec(class_name=known.spec.class_name)  # no version asks for more than another
        shape = build_shape(self._context, spec, known.home, known.policy)
        return pod_sets.build_pod_sets(known.policy, known.spec, server.list_containers(shape), RUNNER_RESOURCES)

    async def _find_priority(self, job: Object, kind: Kind) -> Object | None:
        name = labels_of(job).get(labels.KUEUE_PRIORITY)
        if not name:
            return None
        found = await self._context.api.find(replace(kinds.WORKLOAD_PRIORITY, version=kind.version), name)
        if found is None:
            message = f"no WorkloadPriorityClass named '{name}', as the label `{labels.KUEUE_PRIORITY}` says"
            raise Refused(conditions.PRIORITY_NOT_FOUND, message, retry_seconds=SECONDS)
        return found

    async def read_turn(self, known: JobIdentity, found: Object, kind: Kind) -> Turn:
        sets = (pod_sets.APP, pod_sets.SERVER, pod_sets.RUNNER)
        names = {name for pod_set in sets for name in workload.list_flavors(found, pod_set)}
        flavor, api = replace(kinds.RESOURCE_FLAVOR, version=kind.version), self._context.api
        flavors = {name: spec_of(await api.get(flavor, name)) for name in names}
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

    async def answer(self, job: Object, found: Object, kind: Kind) -> None:
        """Tell Kueue, by the job's Workload `found`, what became of the job. Raises what the API server answers."""
        meta, is_quiet = found["metadata"], suspend.is_quiet(self._context.cache, job)
        if not self._is_asked(job, found):
            if is_quiet or is_running(job):
                await self.delete(found, kind)
                return
        elif spec_of(job).get("suspend") and is_quiet and not workload.is_prebuilt(job):
            await self.delete(found, kind)
            return
        if workload.has(found, workload.EVICTED) and workload.has(found, workload.RESERVED):
            if is_quiet:
                patch = workload.build_release(found, timestamp())
                await self._context.api.patch(kind, meta["name"], meta["namespace"], patch, subresource="status")
            return
        is_over = is_quiet and not is_running(job) and not wants_to_run(job) and not spec_of(job).get("suspend")
        answers = workload.find_answers(found, conditions_of(job), is_over=is_over, time=timestamp())
        if answers:
            body = {"metadata": {key: meta[key] for key in ("name", "namespace", "uid")}, "status": {"conditions": answers}}
            await self._context.api.apply(kind, body, subresource="status")

    def _is_asked(self, job: Object, found: Object) -> bool:
        """Whether the job runs by this Workload, or waits for it."""
        policy, assigned = self._context.classes.of(job), status_of(job).get("assigned")
        if policy is None or is_managed_elsewhere(job):
            return True
        if policy.queue.kueue == "Ignore" or not (assigned or labels_of(job).get(labels.KUEUE_QUEUE)):
            return False
        used = assigned["workload"] if assigned and is_running(job) else workload.find_name(job)
        return bool(found["metadata"]["name"] == used)
