"""Puts jobs to sleep, has the activator answer for them, and wakes them."""

import logging
from collections.abc import Mapping

from nestor.api import conditions, labels
from nestor.api.contracts.activator import CALLED, SERVICE, SLEEPERS
from nestor.api.names import host_name
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.times import now, timestamp
from nestor.cluster.exposure.exposed import has_ready_endpoint
from nestor.cluster.home import Home
from nestor.kube import ApiError, Change, Informer, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.checks import find_idle_limit
from nestor.operator.admission.identity import JobIdentity
from nestor.operator.guest import Guest, Word
from nestor.operator.guests.sleep.decide import (
    PURPOSE,
    build_slices,
    decide,
    find_obstacle,
    find_rest,
    key_of,
    list_missing,
    list_targets,
)
from nestor.operator.lifecycle.record import is_asleep
from nestor.operator.lifecycle.suspend import find_progress
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import find_cluster, find_home

log = logging.getLogger(__name__)

AGAIN_SECONDS = 60
"""How soon to look again at what keeps a job from sleeping."""


class Sleep(Guest):
    """A job that is asleep gives its place in the queue of its class back, and may have to wait for it when it wakes."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._own = context.settings.namespace
        self._sleepers = Informer(context.api, kinds.CONFIG_MAP, self._own, fields=f"metadata.name={SLEEPERS}")
        chosen = f"kubernetes.io/service-name={SERVICE}"
        self._activators = Informer(context.api, kinds.ENDPOINT_SLICE, self._own, labels=chosen)
        self._sleepers.on_change(self._on_call)
        self._activators.on_change(self._on_move)

    async def run(self) -> None:
        if self._context.settings.activator:
            self.informers = (self._sleepers, self._activators)
            await together(*(informer.run() for informer in self.informers))

    def _on_call(self, change: Change) -> None:
        before, after = (((item or {}).get("data") or {}).values() for item in (change.old, change.new))
        for said in {*after} ^ {*before}:
            namespace, _, name = said.removesuffix(CALLED).partition("/")
            self._context.wake(kinds.NESTED_APP_JOB, name, namespace)

    def _on_move(self, _: Change) -> None:
        """The activator has other addresses."""
        for job in self._context.cache.jobs:
            if (status_of(job).get("asleep") or {"state": "Awake"})["state"] != "Awake":
                self._context.wake(kinds.NESTED_APP_JOB, job["metadata"]["name"], job["metadata"]["namespace"])

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        if job is None or is_terminating(job):
            await self._forget_hosts(f"{namespace}/{name}")

    async def admit(self, known: JobIdentity) -> None:
        """Record what becomes of the job; what follows from that is the next pass's."""
        job, is_enabled = self._context.cache.jobs.get(known.name, known.namespace), self._context.settings.activator
        said, limit = status_of(job).get("asleep"), find_idle_limit(known.policy, known.spec)
        if job is None or (said is None and (limit is None or not is_enabled)):
            return  # as most jobs
        progress = find_progress(self._context.cache, known.home)
        is_due = limit is not None and self._find_rest(job, limit) == 0 and not self._find_obstacle(job, known.policy)
        is_called = not is_enabled or f"{key_of(job)}{CALLED}" in self._hosts.values()
        wanted = decide(job, is_due=is_due, is_called=is_called, is_ending=bool(progress.ending), now=timestamp())
        if wanted == said:
            if said is None or said["state"] == "Awake" or not self._is_known:
                return
            try:
                await self._open(job)
            except ApiError as error:
                log.warning("%s: the activator cannot answer for it: %s", key_of(job), error)
                if said["state"] == "Waking":
                    return
                wanted = said | {"state": "Waking", "since": timestamp()}
            else:
                return
        elif wanted is not None and wanted["state"] == "Awake":
            await self._close(job, known.home)
        await self._context.apply_status(kinds.NESTED_APP_JOB, job, status_of(job) | {"asleep": wanted})
        raise RetryLater(0.05, "its sleep is recorded first")

    def report(self, resolved: Resolved) -> Word | None:
        """When it falls asleep; or why it never does, although its user wants it to."""
        job = self._context.cache.jobs.get(resolved.name, resolved.namespace)
        limit = find_idle_limit(resolved.policy, resolved.spec)
        if job is None or (limit is None and status_of(job).get("asleep") is None):
            return None
        if self._context.settings.activator and not self._is_known:
            return Word(retry_after=1)
        if limit is None or not conditions.is_true(conditions_of(job), conditions.READY):
            return None
        if (obstacle := self._find_obstacle(job, resolved.policy)) is None:
            return Word(retry_after=self._find_rest(job, limit))
        note = f"`idleSeconds` has no effect: {obstacle}" if resolved.spec.idle_seconds else ""
        return Word(note=note, retry_after=AGAIN_SECONDS)

    async def _open(self, job: Object) -> None:
        """Have the activator know the job, and answer for each Service that has no pod which does."""
        if missing := list_missing(job, self._hosts):
            await self._write_hosts(missing)
        numbers: dict[str, tuple[Object, list[int]]] = {}
        for service, target in self._find_services(job):
            if service is not None:
                numbers.setdefault(service["metadata"]["name"], (service, []))[1].append(target["servicePort"])
        api = self._context.api
        for name, (service, ports) in numbers.items():
            namespace = service["metadata"]["namespace"]
            answers = has_ready_endpoint(self._context.cache.slices_by_service.all((namespace, name)))
            for body in build_slices(service, ports, self._activators):
                if answers and not is_asleep(job):
                    await api.delete(kinds.ENDPOINT_SLICE, body["metadata"]["name"], namespace)
                else:
                    await api.apply(kinds.ENDPOINT_SLICE, body)

    async def _close(self, job: Object, home: Home) -> None:
        made = await self._context.api.list(kinds.ENDPOINT_SLICE, home.namespace, labels=f"{labels.PURPOSE}={PURPOSE}")
        delete = self._context.api.delete
        await together(*(delete(kinds.ENDPOINT_SLICE, item["metadata"]["name"], home.namespace) for item in made))
        await self._forget_hosts(key_of(job))

    @property
    def _is_known(self) -> bool:
        """Whether it is known where the activator is, and what it says."""
        return self._activators.synced.is_set() and self._sleepers.synced.is_set()

    @property
    def _hosts(self) -> dict[str, str]:
        found = self._sleepers.get(SLEEPERS, self._own) or {}
        return found.get("data") or {}

    async def _write_hosts(self, hosts: Mapping[str, str | None]) -> None:
        self._sleepers.put(await self._context.api.patch(kinds.CONFIG_MAP, SLEEPERS, self._own, {"data": hosts}))

    async def _forget_hosts(self, own: str) -> None:
        if gone := dict.fromkeys(host for host, said in self._hosts.items() if said.removesuffix(CALLED) == own):
            await self._write_hosts(gone)

    def _find_services(self, job: Object) -> list[tuple[Object | None, Object]]:
        """For each target with a URL its Service, as it is in the job's namespace, and the target."""
        home, find = find_home(job).namespace, self._context.cache.find
        return [
            (find(kinds.SERVICE, host_name(target["serviceName"], target["serviceNamespace"]), home), target)
            for target in list_targets(job)
        ]

    def _find_obstacle(self, job: Object, policy: NestedClassSpec) -> str | None:
        if not self._context.settings.activator:
            return "`activator.enabled` is false in the values of Nestor's chart"
        if self._sleepers.get(SLEEPERS, self._own) is None:
            return f"ConfigMap '{SLEEPERS}' is missing in namespace '{self._own}'"
        return find_obstacle(job, policy, self._find_services(job), self._activators, self._hosts)

    def _find_rest(self, job: Object, limit: int) -> float | None:
        return find_rest(job, find_cluster(self._context.cache, find_home(job)), limit, now())
