"""Puts jobs to sleep, has the activator answer for them, and wakes them."""

from collections.abc import Mapping

from nestor.api import conditions, labels
from nestor.api.contracts.activator import CALLED, SERVICE, SLEEPERS
from nestor.api.names import host_name
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, annotations_of, conditions_of, status_of
from nestor.api.times import now, timestamp
from nestor.kube import Change, Informer, RetryLater, kinds
from nestor.kube.applier import Applier
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.checks import find_idle_limit
from nestor.operator.admission.identity import Denial, JobIdentity
from nestor.operator.guest import Guest, Word
from nestor.operator.guests.sleep import decide
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import find_cluster, find_home


class Sleep(Guest):
    """A job that is asleep is denied its turn. It gives its place in the queue of its class back, and may have to wait for it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._own, self._applier = context.settings.namespace, Applier(context.api)
        self._sleepers = Informer(context.api, kinds.CONFIG_MAP, self._own, fields=f"metadata.name={SLEEPERS}")
        chosen = f"kubernetes.io/service-name={SERVICE}"
        self._activators = Informer(context.api, kinds.ENDPOINT_SLICE, self._own, labels=chosen)
        self._falling: dict[str, Object] = {}
        """By the UIDs of jobs that this pass holds asleep: what their status is to say."""
        for informer in (self._sleepers, self._activators):
            informer.on_change(self._on_change)

    async def run(self) -> None:
        if self._context.settings.activator:
            self.informers = (self._sleepers, self._activators)
            await together(*(informer.run() for informer in self.informers))

    def _on_change(self, _: Change) -> None:
        """Somebody asks for a host, or the activator has other addresses."""
        for job in self._context.cache.jobs:
            if status_of(job).get("asleep"):
                self._context.wake(kinds.NESTED_APP_JOB, job["metadata"]["name"], job["metadata"]["namespace"])

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        if job is None:
            await self._forget_hosts(f"{namespace}/{name}")

    async def admit(self, known: JobIdentity) -> Denial | None:
        job = self._context.cache.jobs.get(known.name, known.namespace)
        if job is None or known.spec.suspend or not self._context.settings.activator:
            return None
        asleep = status_of(job).get("asleep")
        if asleep is None:
            limit = find_idle_limit(known.policy, known.spec)
            if limit is None or self._find_obstacle(job, known.policy) or self._find_rest(job, limit) != 0:
                return None
            asleep = {"since": timestamp(), "wake": annotations_of(job).get(labels.WAKE, "")}
        elif self._is_awake(job):
            return None
        await self._open(job)
        self._falling[known.uid] = asleep
        text = f"asleep since {asleep['since']}, because it had nothing to do; a request to one of its URLs wakes it"
        return Denial(conditions.ASLEEP, text)

    def complete(self, job: Object, status: Object) -> Object:
        asleep = self._falling.pop(job["metadata"]["uid"], None)
        return status | {"asleep": asleep} if asleep else status

    def report(self, resolved: Resolved) -> Word | None:
        """When it falls asleep; or why it never does, although its user wants it to."""
        job = self._context.cache.jobs.get(resolved.name, resolved.namespace)
        limit = find_idle_limit(resolved.policy, resolved.spec)
        if job is None or limit is None or not conditions.is_true(conditions_of(job), conditions.READY):
            return None
        if (obstacle := self._find_obstacle(job, resolved.policy)) is None:
            return Word(retry_after=self._find_rest(job, limit))
        return Word(note=f"`idleSeconds` has no effect: {obstacle}") if resolved.spec.idle_seconds else None

    async def follow(self, job: Object) -> None:
        """Once its pods answer, or nobody shall, nothing leads to the activator any more."""
        meta = job["metadata"]
        job = self._context.cache.jobs.get(meta["name"], meta["namespace"]) or job
        if status_of(job).get("asleep") is None or not decide.is_up(job, is_awake=self._is_awake(job)):
            return
        home = find_home(job).namespace
        made = await self._context.api.list(kinds.ENDPOINT_SLICE, home, labels=f"{labels.PURPOSE}={decide.PURPOSE}")
        await together(*(self._applier.ensure_deleted(kinds.ENDPOINT_SLICE, item["metadata"]["name"], home) for item in made))
        await self._forget_hosts(f"{meta['namespace']}/{meta['name']}")
        kept = {key: value for key, value in status_of(job).items() if key != "asleep"}
        await self._context.apply_status(kinds.NESTED_APP_JOB, job, kept)

    async def _open(self, job: Object) -> None:
        """Have the activator answer for the job, and know it."""
        if not self._activators.synced.is_set() or not self._sleepers.synced.is_set():
            raise RetryLater(0.5, "it is not known yet who is asleep")
        numbers: dict[str, tuple[Object, list[int]]] = {}
        for service, target in self._find_services(job):
            if service is not None:
                numbers.setdefault(service["metadata"]["name"], (service, []))[1].append(target["servicePort"])
        slices = [body for found in numbers.values() for body in decide.build_slices(*found, self._activators)]
        await together(*(self._applier.ensure(kinds.ENDPOINT_SLICE, body) for body in slices))
        own = f"{job['metadata']['namespace']}/{job['metadata']['name']}"
        if missing := {host: own for host in decide.list_hosts(job) if not self._hosts.get(host, "").startswith(own)}:
            await self._write_hosts(missing)

    @property
    def _hosts(self) -> dict[str, str]:
        found = self._sleepers.get(SLEEPERS, self._own) or {}
        return found.get("data") or {}

    async def _write_hosts(self, hosts: Mapping[str, str | None]) -> None:
        self._sleepers.put(await self._context.api.patch(kinds.CONFIG_MAP, SLEEPERS, self._own, {"data": hosts}))

    async def _forget_hosts(self, own: str) -> None:
        if gone := dict.fromkeys(host for host, said in self._hosts.items() if said.removesuffix(CALLED) == own):
            await self._write_hosts(gone)

    def _is_awake(self, job: Object) -> bool:
        if not self._context.settings.activator:  # no longer
            return True
        called = f"{job['metadata']['namespace']}/{job['metadata']['name']}{CALLED}"
        return decide.is_awake(job, is_called=called in self._hosts.values())

    def _find_services(self, job: Object) -> list[tuple[Object | None, Object]]:
        """For each target with a URL its Service, as it is in the job's namespace, and the target."""
        home, find = find_home(job).namespace, self._context.cache.find
        return [
            (find(kinds.SERVICE, host_name(target["serviceName"], target["serviceNamespace"]), home), target)
            for target in decide.list_targets(job)
        ]

    def _find_obstacle(self, job: Object, policy: NestedClassSpec) -> str | None:
        if not self._context.settings.activator:
            return "`activator.enabled` is false in the values of Nestor's chart"
        return decide.find_obstacle(job, policy, self._find_services(job), self._activators)

    def _find_rest(self, job: Object, limit: int) -> float | None:
        return decide.find_rest(job, find_cluster(self._context.cache, find_home(job)), limit, now())
