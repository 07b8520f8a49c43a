"""Makes the nested clusters of jobs known to the Argo CD that their class names, and unknown again."""

import asyncio

from nestor.api import conditions, times
from nestor.api.objects import Object, conditions_of, status_of
from nestor.cluster import pki
from nestor.cluster.argocd import Registration
from nestor.cluster.home import Home
from nestor.kube import ApiError, kinds
from nestor.kube.applier import contains
from nestor.operator.admission.admit import Resolved
from nestor.operator.guest import Guest, Word
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import delete_secret

RETRY_SECONDS = 10.0
"""How soon to try again what was refused: not every remedy causes an event."""


class ArgoCD(Guest):
    """Writes one Secret per job into Argo CD's namespace."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._words: dict[str, Word] = {}
        """By the job's UID: where the Secret is, so that it is found when the class no longer says so; and its problem."""

    def forget(self, uid: str) -> None:
        self._words.pop(uid, None)

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        """Have the Secret as the class wants it.

        It is written only where the job's status has already recorded it, and first when the cluster is ready: Argo CD would only
        fail to connect. A failure is told and keeps nobody from using the job.
        """
        job = self._context.cache.jobs.get(resolved.name, resolved.namespace)
        policy, recorded = resolved.policy.argo_cd, status_of(job).get("argoCDNamespace")
        where, problem = policy.namespace if policy else None, ""
        cluster = self._context.cache.clusters.get(home.name, home.namespace)
        try:
            if recorded and recorded != where:
                await delete_secret(self._context.api, home, home.namespace, recorded)
            elif policy and recorded and conditions.is_true(conditions_of(cluster), conditions.READY):
                problem = await self._write(Registration(home, resolved.class_name, policy))
        except ApiError as error:
            where, problem = recorded, f"could not register the cluster with Argo CD: {error.message}"
        self._words[resolved.uid] = Word({"argoCDNamespace": where}, note=problem, retry_after=RETRY_SECONDS if problem else None)

    def report(self, resolved: Resolved) -> Word | None:
        return self._words.get(resolved.uid)

    async def leave(self, job: Object, home: Home) -> str | None:
        """First, so that Argo CD does not try to delete in a cluster that goes away. What forbids that must not keep a job from
        stopping: the Secret goes with the namespace, which owns it.
        """
        where = status_of(job).get("argoCDNamespace")
        try:
            if where:
                await delete_secret(self._context.api, home, home.namespace, where)
        except ApiError as error:
            if error.is_transient:
                raise
            return f"could not remove the cluster from Argo CD in namespace '{where}': {error.message}"
        return None

    async def _write(self, registration: Registration) -> str:
        """Write the Secret if it is not there or not as it should be. Returns why that is impossible."""
        context, meta = self._context, registration.metadata
        authorities, now = context.provisioner.get_authorities(registration.home), times.now().replace(microsecond=0)
        key = registration.content_key(authorities)
        found = await context.api.find(kinds.SECRET, meta["name"], meta["namespace"])
        if found is not None and not registration.home.owns(found):
            return (
                f"could not register the cluster with Argo CD: Secret '{meta['name']}' in '{meta['namespace']}' is not Nestor's"
            )
        said = {"metadata": {"labels": meta["labels"]}, "data": registration.data}
        if not (pki.is_current(found, key, now) and contains(found, said)):
            body = await asyncio.to_thread(registration.build_secret, authorities, now, context.settings.lifetimes)
            await context.api.apply(kinds.SECRET, body)
        return ""
