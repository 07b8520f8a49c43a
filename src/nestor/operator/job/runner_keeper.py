"""Keeps one job's runner: its pod is made, made again when it died without a result, and taken away while the job rests."""

from __future__ import annotations

import logging

from nestor.api import conditions
from nestor.cluster.shape import Shape
from nestor.kube import Conflict, Forbidden, Invalid, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.objects import Object, conditions_of, is_terminating
from nestor.operator.admission.admit import Resolved
from nestor.operator.job import runner_pod as runner
from nestor.operator.status.conditions import Observed
from nestor.operator.world import pod_status as pods
from nestor.operator.world.context import Context
from nestor.steps import Plan
from nestor.times import now, seconds_since

log = logging.getLogger(__name__)


class RunnerKeeper:
    """Does what `nestor.operator.job.runner_pod` decides."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._api = context.api

    async def ensure(
        self, resolved: Resolved, shape: Shape, plan: Plan, dns_address: str, observed: Observed
    ) -> tuple[str | None, float]:
        """The pod as it should be; returns why it is not, and when to look again."""
        is_over = (observed.run or {}).get("state") in ("Succeeded", "Failed")
        action = runner.decide_runner(observed.runner, plan.hash, is_over=is_over, now=now())
        if action.kind == "Replace" and observed.runner is not None:
            log.info("%s/%s: replacing the runner's pod, attempt %d", resolved.namespace, resolved.name, action.attempt)
            uid, is_finished = observed.runner["metadata"]["uid"], pods.is_finished(observed.runner)
            # One that still works has its time to stop, and its successor waits for that: there is one runner at a time.
            await self._api.delete(
                kinds.POD, shape.child("run"), shape.namespace, uid=uid, grace_seconds=0 if is_finished else None
            )
            if not is_finished:
                return None, 1
        if action.kind in ("Create", "Replace"):
            body = runner.build_pod(resolved, shape, plan, dns_address, action.attempt)
            try:
                await self._api.create(kinds.POD, body)
            except Conflict as conflict:
                # The cache lags behind our own write, or the old pod is still on its way out.
                if not conflict.already_exists:
                    raise
                return None, 1
            except (Forbidden, Invalid) as error:
                return self._tell_refusal(resolved, body, error)
        dropped = runner.find_dropped(resolved, observed.runner, plan.hash)
        return dropped or action.message or None, action.delay or RESYNC_SECONDS

    async def remove(self, pod: Object | None) -> None:
        """No runner works any more; what it recorded stays, and so does the log of one that has ended."""
        if pod is None or is_terminating(pod) or pods.is_finished(pod):
            return
        meta = pod["metadata"]
        await self._api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"])

    def _tell_refusal(self, resolved: Resolved, body: Object, error: Forbidden | Invalid) -> tuple[str | None, float]:
        """Told by the condition instead of raised: the status is to be written first."""
        if isinstance(error, Forbidden) and error.is_terminating:
            raise RetryLater(1, error.message) from None
        log.info("%s/%s: the runner's pod is refused: %s", resolved.namespace, resolved.name, error)
        job = self._context.world.jobs.get(resolved.name, resolved.namespace) or {}
        steps = conditions.find(conditions_of(job), conditions.STEPS_APPLIED)
        since = seconds_since(steps["lastTransitionTime"]) if steps and steps["status"] == "False" else 0.0
        return runner.decide_refused(body, error, since)
