"""Watches the objects that the policies name, and publishes the outcome."""

import json
import logging
from collections.abc import Callable
from typing import TypeVar

from nestor.api import data, labels
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.observed import Outcome
from nestor.api.policies import FailurePolicy, SuccessPolicy
from nestor.kube import Change, WorkQueue, kinds
from nestor.syncer.outcome import decide
from nestor.syncer.view.context import RETRY_LIMIT, Context
from nestor.syncer.view.watches import Selection, Watches

log = logging.getLogger(__name__)

T = TypeVar("T")

MEMORY = ("kube-system", "nestor-outcome")
"""The nested ConfigMap that remembers objects that met a criterion, even once they are gone. It shares the cluster's lifetime."""
_KEY = "met.json"


class OutcomeController:
    """Computes the outcome and calls `publish` with it, or with None if there is no policy. Without one, watches nothing."""

    def __init__(self, context: Context, server_uid: str, publish: Callable[[Outcome | None], None]) -> None:
        self._context = context
        self._server_uid = server_uid
        self._publish = publish
        self._rules: decide.Rules | None = None
        self._memory: dict[str, str] | None = None
        self._last: Outcome | None = None
        self.watches = Watches(context.nested, lambda *_: self.queue.add(""))
        self.queue: WorkQueue[str] = WorkQueue(self._reconcile, workers=1, name="outcome", max_delay=RETRY_LIMIT)
        context.caches.host_cluster.on_change(self._on_cluster)

    def _on_cluster(self, change: Change) -> None:
        before, spec = (spec_of(item) for item in (change.old, change.new))
        if change.new is None or (change.old is not None and all(before.get(key) == spec.get(key) for key in _POLICIES)):
            return
        if change.old is None:
            last = _read(Outcome, status_of(change.new).get("outcome"))
            # Only one that was published for this same server, before this process started.
            self._last = last if last is not None and last.server_uid == self._server_uid else None
        self._rules = read_rules(spec)
        wanted = [*self._rules.success, *self._rules.failure] if self._rules else []
        self.watches.want(item.selection for item in wanted)
        self.queue.add("")

    async def _reconcile(self, _: str) -> None:
        rules = self._rules
        if rules is None:
            self._tell(None)
            return
        selections = [item.selection for item in (*rules.success, *rules.failure)]
        if not all(self.watches.is_missing(item) or self.watches.find(item) is not None for item in selections):
            # Until the objects are known, the previous outcome stands: restarting the syncer must not change it.
            self._tell(self._last or Outcome(message="Looking for the targets of the policies", server_uid=self._server_uid))
            return
        before = self._memory if self._memory is not None else self._load()
        memory = decide.remember(rules, self._find, before)
        self._tell(decide.decide(rules, self._find, memory, self._server_uid))
        if memory != before:
            await self._save(memory)
        self._memory = memory

    def _tell(self, outcome: Outcome | None) -> None:
        if outcome is not None and (self._last is None or outcome.state != self._last.state):
            log.info("outcome: %s: %s", outcome.state, outcome.message)
        self._last = outcome
        self._publish(outcome)

    def _find(self, selection: Selection) -> decide.Seen:
        return decide.Seen(tuple(self.watches.find(selection) or ()), self.watches.is_missing(selection))

    def _load(self) -> dict[str, str]:
        found = self._context.caches.nested(kinds.CONFIG_MAP).get(MEMORY[1], MEMORY[0]) or {}
        try:
            memory = json.loads((found.get("data") or {}).get(_KEY) or "{}")
            return {str(key): str(value) for key, value in memory.items()}
        except (ValueError, AttributeError, RecursionError):  # the tenant can write that ConfigMap too
            return {}

    async def _save(self, memory: dict[str, str]) -> None:
        await self._context.nested.apply(
            kinds.CONFIG_MAP,
            {
                "metadata": {
                    "name": MEMORY[1],
                    "namespace": MEMORY[0],
                    "labels": {labels.MANAGED_BY: "nestor", labels.PURPOSE: "outcome"},
                },
                "data": {_KEY: json.dumps(memory, sort_keys=True)},
            },
        )


_POLICIES = ("successPolicy", "failurePolicy")


def read_rules(spec: Object) -> decide.Rules | None:
    """The policies in a NestedCluster's spec; None if they name nothing to look at."""
    success, failure = _read(SuccessPolicy, spec.get("successPolicy")), _read(FailurePolicy, spec.get("failurePolicy"))
    rules = decide.Rules(
        tuple(decide.build_success(success)),
        tuple(decide.build_failure(success, failure)),
        success.operator if success else "All",
    )
    return rules if rules.success or rules.failure else None


def _read(kind: type[T], value: object) -> T | None:
    """Parse `value`; log and ignore it if it is invalid, as an older or newer CRD may have accepted it."""
    try:
        return data.read(kind, value) if value is not None else None
    except data.Unreadable as error:
        log.error("ignoring a policy or outcome that cannot be read: %s", error)
        return None
