"""What a pass does for a job that is admitted: from its plan to its status."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nestor.api import conditions, names
from nestor.api.names import Part
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.times import now, seconds_since, timestamp
from nestor.apps.steps import Plan
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, Invalid, kinds
from nestor.kube.applier import LAG_SECONDS, RESYNC_SECONDS
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import Denial
from nestor.operator.clusters.homes import build_shape, keep_home_keys
from nestor.operator.guest import Guest, Word, spare_volumes
from nestor.operator.job.children import Children, ChildrenKeeper
from nestor.operator.job.expose import admit_routes, is_waiting, observe_exposure
from nestor.operator.job.hosts import Hosts
from nestor.operator.job.refused import expire
from nestor.operator.job.runner_pod import ensure_runner
from nestor.operator.lifecycle.data_epoch import drop_data, track_data
from nestor.operator.lifecycle.lifecycle import Facts, Lifecycle, decide_lifecycle
from nestor.operator.lifecycle.record import find_rerun
from nestor.operator.lifecycle.suspend import stop
from nestor.operator.status.build import build_status, describe, explain_held
from nestor.operator.status.conditions import Observed, decide_conditions
from nestor.operator.status.observe import find_start_deadline, gather_facts
from nestor.operator.status.report import report
from nestor.operator.world.context import Context, Result, read_refusal

REFUSAL_SECONDS = 10
"""How soon to retry exposing a job whose host is taken or whose TLS secret is missing; not every fix causes an event."""


@dataclass(frozen=True)
class _Admitted:
    job: Object
    resolved: Resolved
    shape: Shape
    plan: Plan
    templates: Object | None
    """If they were read in this pass."""
    cluster: Object | None
    """As it was when the facts were gathered: steps that fail later are news for the next pass, and for its lifecycle."""
    facts: Facts
    life: Lifecycle


@dataclass
class AdmittedJobs:
    """Brings everything of a job into the state that its lifecycle demands."""

    _context: Context
    _guests: Sequence[Guest]
    _inputs: CopiedInputs
    _hosts: Hosts
    _children: ChildrenKeeper

    async def reconcile(self, job: Object, resolved: Resolved) -> Result | Denial:
        """Plan → lifecycle → children → runner → observe → decide → report."""
        context = self._context
        self._hosts.note(resolved.uid, resolved.routes)
        shape = build_shape(context, resolved.cluster, resolved.home, resolved.policy)
        shape = replace(shape, nodes=resolved.turn.server)
        data = await track_data(context, shape)
        source, templates = await self._inputs.read_templates(resolved)
        plan = resolved.build_plan(f"{source}@{find_rerun(job)}", data.number)
        cluster = context.cache.clusters.get(resolved.home.name, resolved.home.namespace)
        facts = gather_facts(context.cache, job, resolved.home, resolved.spec, now(), plan_hash=plan.hash, policy=resolved.policy)
        life = decide_lifecycle(facts, now())
        if life.expired:
            return await expire(context, job, life)
        admitted = _Admitted(job, resolved, replace(shape, replicas=life.replicas), plan, templates, cluster, facts, life)
        if life.is_stopped and not facts.made_at:
            # It was created suspended, and has only a status; its templates are read again when it starts.
            await self._report(admitted, Children(admit_routes(context.cache, self._hosts, resolved)))
            self._inputs.forget_templates(resolved.uid)
            return Result(RESYNC_SECONDS).within(life.delay)
        if life.is_reset_due or (life.phase == "Running" and not facts.made_at):
            for guest in self._guests:
                if (denial := await guest.begin(resolved)) is not None:
                    return denial
        if life.is_reset_due:
            # Whoever wants a database back after the job wants it after a failure, too.
            if (space := context.cache.find(kinds.NAMESPACE, shape.namespace)) is not None:
                await spare_volumes(self._guests, space)
            await drop_data(context, shape, data, is_stopping=facts.progress.is_stopping)
        return await self._keep(admitted)

    async def _keep(self, it: _Admitted) -> Result:
        context = self._context
        children, refused, error = await self._ensure_children(it)
        refused = refused or await find_refusal(context, it.shape)
        runner = Result(RESYNC_SECONDS)
        if it.life.is_stopped:
            await stop(context, it.shape, it.life.suspend, is_applied=error is None, is_overdue=it.life.is_overdue)
        elif children.addresses is not None and it.plan.steps:
            runner = await self._ensure_runner(it, children.addresses.dns)
        if error is not None:  # a rerun has not begun before all of its inputs are there
            before = status_of(it.job).get("rerun") or ""
            it = replace(it, life=replace(it.life, record=replace(it.life.record, rerun=before)))
        words = await self._report(it, children, refused=refused, runner_problem=runner.problem)
        if error is not None:
            return Result(error=error)
        delay = find_delay(context, it.shape)
        return Result(runner.retry_after).within(
            it.life.delay,
            REFUSAL_SECONDS if is_waiting(children.routes) else None,
            REFUSAL_SECONDS if delay == 0 else delay,
            LAG_SECONDS if context.applier.is_settling(it.shape.namespace) else None,
            find_start_deadline(it.job, it.life.record.start_time) or RESYNC_SECONDS,
            *(word.retry_after for word in words),
        )

    async def _ensure_children(self, it: _Admitted) -> tuple[Children, str | None, Exception | None]:
        """The children; or what the host refused, as text for the user and as the error for the retry."""
        try:
            made = await self._children.ensure(it.resolved, it.shape, it.plan, it.templates, is_stopped=it.life.is_stopped)
            return made, None, None
        except (ForeignObject, Forbidden, Invalid) as error:
            message = read_refusal(error)
            await together(keep_home_keys(self._context, it.shape), self._children.keep_walls(it.job))
            routes = admit_routes(self._context.cache, self._hosts, it.resolved)
            return Children(routes), message, error

    async def _ensure_runner(self, it: _Admitted, dns_address: str) -> Result:
        is_over = (it.facts.run or {}).get("state") in ("Succeeded", "Failed")
        steps = conditions.find(conditions_of(it.job), conditions.STEPS_APPLIED)
        since = seconds_since(steps["lastTransitionTime"]) if steps and steps["status"] == "False" else 0.0
        return await ensure_runner(self._context, it.resolved, it.plan, dns_address, is_over=is_over, steps_since=since)

    async def _report(
        self, it: _Admitted, children: Children, *, refused: str | None = None, runner_problem: str | None = None
    ) -> list[Word]:
        """Observe, decide on the conditions, and write the status. What the guests had to say."""
        context, resolved, start = self._context, it.resolved, it.life.record.start_time
        cache, home = context.cache, resolved.home
        words = [word for guest in self._guests if (word := guest.report(resolved)) is not None]
        observed = Observed(
            cluster=it.cluster,
            server=cache.find(kinds.POD, names.server_pod(home.name), home.namespace),
            runner=cache.find(kinds.POD, home.child(Part.RUNNER), home.namespace),
            plan_hash=it.plan.hash,
            has_app=resolved.spec.has_app,
            problem=refused,
            held=explain_held(
                cache.pods_by_namespace.all(home.namespace),
                {node["metadata"]["name"]: node for node in cache.informers[kinds.NODE]},
            ),
            note="; ".join(filter(None, (children.problem, children.note, *(word.note for word in words)))),
            warnings=resolved.warnings,
            remarks=tuple(word.remark for word in words if word.remark),
            runner_problem=runner_problem,
            exposure=observe_exposure(cache, resolved, children.routes),
            is_overdue=find_start_deadline(it.job, start) <= 0,
        )
        has_kubeconfig = children.addresses is not None and not children.problem
        kubeconfig = names.kubeconfig_secret(resolved.name) if has_kubeconfig else None
        details = describe(resolved, observed, it.plan, it.life, kubeconfig)
        for word in words:
            details |= word.details
        found = decide_conditions(observed, it.life)
        await report(context, self._guests, it.job, build_status(it.job, found, timestamp(), details))
        return words


PATIENCE_SECONDS = 10
"""After so long without its pod, a StatefulSet is asked about."""


def find_delay(context: Context, shape: Shape) -> float | None:
    """In how many seconds to ask, at the latest, if the server still has no pod then; None if it has one, or should have none."""
    cache, made = context.cache, context.cache.find(kinds.STATEFUL_SET, shape.child(Part.SERVER), shape.namespace)
    if not shape.replicas or made is None or is_terminating(made):
        return None
    if cache.find(kinds.POD, names.server_pod(shape.name), shape.namespace) is not None:
        return None
    return max(0.0, PATIENCE_SECONDS - seconds_since(made["metadata"]["creationTimestamp"]))


async def find_refusal(context: Context, shape: Shape) -> str | None:
    """What the API server says about such a pod, by a dry run; None if it would take it."""
    made = context.cache.find(kinds.STATEFUL_SET, shape.child(Part.SERVER), shape.namespace)
    if made is None or find_delay(context, shape) != 0:
        return None
    body = build_pod(made, names.server_pod(shape.name))
    try:
        await context.api.try_create(kinds.POD, body)
    except (Forbidden, Invalid) as error:
        return f"the host cluster refuses pod '{body['metadata']['name']}': {read_refusal(error)}"
    except ApiError:
        return None  # a webhook that takes no dry runs, or a server that is away
    return None


def build_pod(stateful_set: Object, name: str) -> Object:
    """The pod as its StatefulSet would make it, without its account, which the operator may not give to a pod."""
    template, claims = stateful_set["spec"]["template"], stateful_set["spec"].get("volumeClaimTemplates") or ()
    data = [{"name": claim["metadata"]["name"], "emptyDir": {}} for claim in claims]
    spec = {key: value for key, value in template["spec"].items() if key not in ("serviceAccount", "serviceAccountName")}
    own = template["metadata"] | {"name": name, "namespace": stateful_set["metadata"]["namespace"]}
    return {"metadata": own, "spec": spec | {"volumes": [*(spec.get("volumes") or ()), *data]}}
