"""Probes the host: once at the start and seldom afterwards; and says condition `NetworkEnforced` of all classes."""

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import AsyncIterator, Callable

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, status_of
from nestor.cluster.home import Home
from nestor.kube import ApiError, Forbidden, kinds
from nestor.operator import oneshot
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Denial, JobIdentity
from nestor.operator.guest import Guest, Word
from nestor.operator.guests.enforcement import probe
from nestor.operator.guests.enforcement.verdict import Verdict, decide_condition, explain_open, find_denial, read_verdict
from nestor.operator.lifecycle.record import has_started
from nestor.operator.settings import Settings
from nestor.operator.world.context import Context

PREFIX = "nestor-probe-"
LISTENER, CALLER = "listener", "caller"
ACTIVE_SECONDS = 300
"""Time limit of the pods: they end even if no operator is there to delete them."""
RESOURCES: Object = {"requests": {"cpu": "5m", "memory": "24Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}}


def build_namespace(name: str, owner: Object) -> Object:
    """The namespace; it belongs to the operator's own, `owner`, and goes with it at the latest."""
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    own = {labels.MANAGED_BY: "nestor", labels.PURPOSE: "probe", "pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": own, "ownerReferences": [reference]}}


def is_scratch(namespace: Object, owner: Object) -> bool:
    """Whether this is such a namespace: by its name and its owner, since labels are quickly copied."""
    meta = namespace["metadata"]
    owners = {item.get("uid") for item in meta.get("ownerReferences") or ()}
    is_ours = labels_of(namespace).get(labels.PURPOSE) == "probe" and owner["metadata"]["uid"] in owners
    return is_ours and str(meta["name"]).startswith(PREFIX)


def build_policies(namespace: str) -> list[Object]:
    """One per pod. Each forbids what the other one allows, so that it is known which direction has no effect."""
    listener, caller = ({"podSelector": {"matchLabels": {labels.PURPOSE: name}}} for name in (LISTENER, CALLER))
    ingress = {"from": [caller], "ports": _ports(probe.OPEN_PORT, probe.EGRESS_PORT)}
    egress = {"to": [listener], "ports": _ports(probe.OPEN_PORT, probe.INGRESS_PORT)}
    specs = {LISTENER: listener | {"ingress": [ingress]}, CALLER: caller | {"egress": [egress]}}
    both = {"policyTypes": ["Ingress", "Egress"]}
    return [{"metadata": {"name": name, "namespace": namespace}, "spec": spec | both} for name, spec in specs.items()]


def _ports(*numbers: int) -> list[Object]:
    return [{"protocol": "TCP", "port": number} for number in numbers]


def build_pod(namespace: str, name: str, settings: Settings, *arguments: str) -> Object:
    """A pod with the labels of an application's, as far as network plugins and admins' policies can know them."""
    own = {labels.MANAGED_BY: "nestor", labels.COMPONENT: labels.COMPONENT_APP, labels.PURPOSE: name}
    metadata = {"name": name, "namespace": namespace, "labels": own}
    words = ["probe", *arguments]
    return oneshot.build_pod(
        metadata, settings.image, words, RESOURCES, grace=0, activeDeadlineSeconds=ACTIVE_SECONDS, **settings.pulls
    )


log = logging.getLogger(__name__)

ENFORCED_SECONDS = 24 * 3600.0
"""How soon to look again at a host that enforces policies."""
OPEN_SECONDS = 15 * 60.0
"""At one that does not: an admin may be about to change that."""
UNKNOWN_SECONDS = (60.0, 30 * 60.0)
"""At one that is not known: after the first attempt, and at the most."""
LIMIT_SECONDS = 150.0
"""How long one probe may take, with the pull of the image."""
POLL_SECONDS = 1.0
ACCOUNT_TRIES = 10
"""How often the pods of a new namespace may be refused, which lacks its service account at first."""


class Enforcement(Guest):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._unknown = 0
        self.verdict: Verdict | None = None
        """None: nothing was found out yet, and what the classes say stays."""

    async def run(self) -> None:
        """Probe again and again; returns at once if no probe is wanted."""
        if not self._context.settings.network_probe:
            self._take(Verdict(None, "`operator.networkProbe` is false in the chart's values"))
            return
        pause = 0.0
        for _ in itertools.count():
            await asyncio.sleep(pause)
            pause = self._take(await self._try())

    async def admit(self, known: JobIdentity) -> Denial | None:
        """The class may want a host that is known to enforce policies."""
        job = self._context.cache.jobs.get(known.name, known.namespace)
        if job is None or has_started(job):
            return None  # those that were admitted stay
        return find_denial(self._context.cache.classes.get(known.class_name), known.policy, known.class_name)

    def report(self, resolved: Resolved) -> Word | None:
        item = self._context.cache.classes.get(resolved.class_name)
        said = explain_open(item, resolved.policy, resolved.class_name)
        return Word(remark=(conditions.NETWORK_NOT_ENFORCED, said)) if said else None

    def judge(self, item: Object, policy: NestedClassSpec) -> Condition | None:
        """By the last verdict. Where nobody asks for it, only what was said before is corrected."""
        is_asked = self._context.settings.network_probe or policy.network.unenforced == "Refuse" or bool(conditions_of(item))
        return decide_condition(self.verdict, policy) if self.verdict is not None and is_asked else None

    def _take(self, verdict: Verdict) -> float:
        """Note a verdict; seconds until the next probe."""
        if verdict.code is None and self.verdict is not None and self.verdict.code is not None:
            log.info("the host's network policies cannot be probed again: %s", verdict.problem)
        else:
            if verdict != self.verdict:
                is_open = verdict.code is not None and not verdict.is_enforced
                log.log(logging.WARNING if is_open else logging.INFO, "probe of network policies: %s", verdict)
            self.verdict = verdict
            for item in self._context.cache.classes:
                self._context.wake(kinds.NESTED_CLASS, item["metadata"]["name"], "")
        if verdict.code is None:
            self._unknown += 1
            return oneshot.find_pause(self._unknown, *UNKNOWN_SECONDS)
        self._unknown = 0
        return ENFORCED_SECONDS if verdict.is_enforced else OPEN_SECONDS

    async def _try(self) -> Verdict:
        try:
            async with asyncio.timeout(LIMIT_SECONDS), self._scratch() as namespace:
                return await self._probe(namespace)
        except TimeoutError:
            return Verdict(None, f"its pods did not end within {LIMIT_SECONDS:.0f} s")
        except ApiError as error:
            return Verdict(None, f"the host refuses it: {error.message}")

    @contextlib.asynccontextmanager
    async def _scratch(self) -> AsyncIterator[str]:
        """A namespace for one probe. Those that an operator left behind which was ended meanwhile go, too."""
        api = self._context.api
        owner = await api.get(kinds.NAMESPACE, self._context.settings.namespace)
        for item in list(self._context.cache.informers[kinds.NAMESPACE]):
            if is_scratch(item, owner) and not is_terminating(item):
                await api.delete(kinds.NAMESPACE, item["metadata"]["name"], uid=item["metadata"]["uid"])
        made = await api.create(kinds.NAMESPACE, build_namespace(PREFIX + secrets.token_hex(4), owner))
        meta = made["metadata"]
        try:
            yield str(meta["name"])
        finally:
            self._context.applier.forget(meta["name"])
            await asyncio.shield(api.delete(kinds.NAMESPACE, meta["name"], uid=meta["uid"]))

    async def _probe(self, namespace: str) -> Verdict:
        api, settings = self._context.api, self._context.settings
        for policy in build_policies(namespace):
            await api.apply(kinds.NETWORK_POLICY, policy)
        await self._context.provisioner.ensure_own_pulls(Home(name=CALLER, namespace=namespace, labels={}))
        await self._create(build_pod(namespace, LISTENER, settings, "listen"))
        listener = await self._await_pod(namespace, LISTENER, lambda pod: bool(status_of(pod).get("podIP")))
        await self._create(build_pod(namespace, CALLER, settings, "call", status_of(listener)["podIP"]))
        caller = await self._await_pod(namespace, CALLER, lambda pod: read_verdict(pod) is not None)
        return read_verdict(caller) or Verdict(None, "its pod has no result")

    async def _create(self, pod: Object) -> Object:
        for _ in range(ACCOUNT_TRIES):
            with contextlib.suppress(Forbidden):
                return await self._context.api.create(kinds.POD, pod)
            await asyncio.sleep(POLL_SECONDS)
        return await self._context.api.create(kinds.POD, pod)

    async def _await_pod(self, namespace: str, name: str, is_met: Callable[[Object], bool]) -> Object:
        """The pod, once it is as awaited. Asked for, since the caches keep too little of pods; the caller limits the time."""
        while True:
            for pod in await self._context.api.list(kinds.POD, namespace, fields=f"metadata.name={name}", trim=dict):
                if is_met(pod):
                    return pod
            await asyncio.sleep(POLL_SECONDS)
