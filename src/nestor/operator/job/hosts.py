"""The hosts that jobs claim: by their specs, their last pass and their Ingresses; and which jobs may claim a host."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from urllib.parse import urlsplit

from nestor.api import conditions, names
from nestor.api.expose import ExposePolicy
from nestor.api.objects import Object, conditions_of, spec_of, status_of
from nestor.cluster.exposure.host_claims import HostClaim, find_exposed_job, hosts_of
from nestor.cluster.exposure.hosts import choose_host, is_default, may_be_further
from nestor.cluster.exposure.routes import Route
from nestor.kube import kinds
from nestor.operator.world.context import Cache, Classes
from nestor.operator.world.ownership import find_namespace, is_managed_elsewhere


class Hosts:
    """The claims of all jobs. Remembers the hosts of additional targets, which are only known after a pass over the job.

    Finds the jobs that may claim a host by an index. It is kept when a job, its Ingresses or HTTPRoutes change, and knows neither
    classes nor other namespaces: whether such a job does claim the host is decided when somebody asks.
    """

    def __init__(self, cache: Cache, classes: Classes) -> None:
        self._cache = cache
        self._classes = classes
        self._further: dict[str, frozenset[str]] = {}
        self._jobs: dict[str, Object] = {}
        self._marks: dict[str, frozenset[str]] = {}
        """The hosts, and first labels of hosts, that a job may claim, by its UID."""
        self._claimants: defaultdict[str, set[str]] = defaultdict(set)
        """The UIDs of jobs by these."""
        self.homes: dict[str, str] = {}
        """The namespaces of all known jobs, each with the job's UID."""
        for job in cache.jobs:
            self._take(None, job)
        cache.jobs.on_change(lambda change: self._take(change.old, change.new))
        for kind in cache.exposing:
            cache.informers[kind].on_change(lambda change: self._mark(self.homes.get(change.key[0], "")))

    def _take(self, old: Object | None, new: Object | None) -> None:
        if old is not None and self.homes.get(home := find_namespace(old)) == old["metadata"]["uid"]:
            del self.homes[home]
        if old is not None and (new is None or new["metadata"]["uid"] != old["metadata"]["uid"]):
            uid = old["metadata"]["uid"]
            self._jobs.pop(uid, None)
            self._index(uid, frozenset())
        if new is not None:
            uid = new["metadata"]["uid"]
            self.homes[find_namespace(new)] = uid
            self._jobs[uid] = new
            self._mark(uid)

    def _mark(self, uid: str) -> None:
        """Keep a job in the index, by every host that it may claim. Of its default host the first label is enough."""
        if (job := self._jobs.get(uid)) is None:
            return
        meta, wanted = job["metadata"], (spec_of(job).get("expose") or {}).get("host")
        labels = {
            names.default_host(meta["name"], meta["namespace"], "", is_shared=is_shared).removesuffix(".")
            for is_shared in (False, True)
        }
        known = _list_hosts(status_of(job)) | self.held(job).keys() | self._further.get(uid, frozenset())
        self._index(uid, frozenset(labels | known | ({wanted} if wanted else set())))

    def _index(self, uid: str, marks: frozenset[str]) -> None:
        before = self._marks.pop(uid, frozenset())
        for mark in before - marks:
            self._claimants[mark].discard(uid)
            if not self._claimants[mark]:
                del self._claimants[mark]
        for mark in marks - before:
            self._claimants[mark].add(uid)
        if marks:
            self._marks[uid] = marks

    def note(self, uid: str, routes: Sequence[Route]) -> None:
        self._further[uid] = frozenset(route.host for route in routes[1:] if route.host)
        self._mark(uid)

    def forget(self, uid: str) -> None:
        self._further.pop(uid, None)

    def find(self, hosts: Collection[str]) -> Iterable[HostClaim]:
        """The claims to these hosts: of admitted jobs, and those that refused jobs still hold, because their Ingresses stay."""
        marks = {mark for host in hosts for mark in (host, host.partition(".")[0])}
        for job in map(self._jobs.__getitem__, sorted({uid for mark in marks for uid in self._claimants.get(mark, ())})):
            if is_managed_elsewhere(job):
                continue
            admitted = conditions.find(conditions_of(job), conditions.ADMITTED)
            is_refused = admitted is not None and admitted["status"] == "False"
            yield from (claim for claim in self.of(job) if claim.host in hosts and (claim.is_held or not is_refused))

    def of(self, job: Object) -> Iterable[HostClaim]:
        """The hosts that a job wants, and those of its existing Ingresses.

        An existing Ingress does not make its host the job's own: it may have been another job's before.
        """
        meta, policy = job["metadata"], self._find_policy(job)
        held = self.held(job)
        is_shared = self._is_shared(job, policy, held)
        wanted = (spec_of(job).get("expose") or {}).get("host")
        first = choose_host(meta["name"], meta["namespace"], wanted, policy, is_shared=is_shared) if policy else None
        further = self._find_further(job, policy, held)
        for host in further | held.keys() | ({first} if first else set()):
            is_own = host in further
            if policy is not None and not is_own:
                is_own = is_default(host, meta["name"], meta["namespace"], policy, is_shared=is_shared)
            created = meta.get("creationTimestamp", "")
            yield HostClaim(host, meta["name"], meta["namespace"], meta["uid"], created, held.get(host, ""), is_own)

    def is_shared(self, job: Object) -> bool:
        """Whether a job of another namespace may have the same label, so that the first to come could take the other's host.

        What a job once got stays, whatever namespaces come and go: its Ingress and its status remember it.
        """
        return self._is_shared(job, self._find_policy(job), self.held(job))

    def _is_shared(self, job: Object, policy: ExposePolicy | None, held: Iterable[str]) -> bool:
        name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        if policy is None or policy.domain is None:
            return False
        known = _list_hosts(status_of(job)) | set(held)
        plain = names.default_host(name, namespace, policy.domain)
        if any(host == plain or host.endswith(f"--{plain}") for host in known):
            return False
        if names.default_host(name, namespace, policy.domain, is_shared=True) in known:
            return True
        return any(self._cache.find(kinds.NAMESPACE, other) for other in names.list_sharers(name, namespace))

    def _find_further(self, job: Object, policy: ExposePolicy | None, held: Iterable[str]) -> frozenset[str]:
        """The hosts of its further targets; until its first pass here those that it has, by their form."""
        meta = job["metadata"]
        noted = self._further.get(meta["uid"])
        if noted is not None or policy is None:
            return noted or frozenset()
        return frozenset(host for host in held if may_be_further(host, meta["name"], meta["namespace"], policy))

    def held(self, job: Object) -> dict[str, str]:
        """The hosts of the Ingresses and HTTPRoutes that expose a job, each with its creation time."""
        namespace, uid = find_namespace(job), job["metadata"]["uid"]
        own = [item for _, item in self._cache.find_exposing(namespace) if find_exposed_job(item, {namespace: uid})]
        return {host: item["metadata"]["creationTimestamp"] for item in own for host in hosts_of(item)}

    def _find_policy(self, job: Object) -> ExposePolicy | None:
        found = self._classes.of(job)
        return found.expose if found else None


def _list_hosts(status: Object) -> set[str]:
    urls = [status.get("url"), *(target.get("url") for target in status.get("targets") or ())]
    return {urlsplit(url).hostname or "" for url in urls if url}
