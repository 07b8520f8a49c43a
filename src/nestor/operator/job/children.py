"""Creates and maintains the objects of one admitted job: its nested cluster and what the job adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, spec_of, status_of
from nestor.apps.steps import Plan
from nestor.cluster.home import Home
from nestor.cluster.provision import Addresses
from nestor.cluster.shape import Shape
from nestor.kube import kinds
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import JobIdentity, find_machine_name
from nestor.operator.admission.placement import apply_machine
from nestor.operator.admission.reserved import cap_quota
from nestor.operator.admission.storage import apply_size, read_wishes
from nestor.operator.clusters.ensure import Alongside, build_shape, ensure_cluster, ensure_policies, keep_walls
from nestor.operator.clusters.homes import ensure_defaults, ensure_home, ensure_quota
from nestor.operator.clusters.policy import resolve_policy
from nestor.operator.guest import Guest, Routes
from nestor.operator.job import runner_pod
from nestor.operator.job.expose import Openings, admit_routes, ensure_ingresses
from nestor.operator.job.hosts import Hosts
from nestor.operator.job.policy import write_policy
from nestor.operator.oneshot import RUNNER_RESOURCES
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home
from nestor.operator.world.taints import read_taints


@dataclass
class Children:
    """The results of a pass over the children."""

    routes: Routes = ()
    """Where the targets are reachable, or why they are not."""
    addresses: Addresses | None = None
    """The cluster's addresses; None if it could not be created."""
    problem: str | None = None
    """Why there is no kubeconfig for the user."""
    note: str | None = None
    """What else the user should know even though the cluster is fine."""


class ChildrenKeeper:
    """Applies each object as soon as everything it needs exists."""

    def __init__(self, context: Context, guests: Sequence[Guest], inputs: CopiedInputs, hosts: Hosts) -> None:
        self._context = context
        self._guests = guests
        self._inputs = inputs
        self._hosts = hosts
        self.openings = Openings(context)

    async def ensure(self, resolved: Resolved, shape: Shape, plan: Plan, *, is_stopped: bool = False) -> Children:
        """Ensure the namespace, then everything in it."""
        context, inputs = self._context, self._inputs
        home = await self.ensure_namespace(resolved)
        found = Children()
        cluster: Object = {}
        certificate_problem: str | None = None
        missing: str | None = None

        async def ensure_object() -> None:
            nonlocal cluster
            cluster = await context.applier.ensure(kinds.NESTED_CLUSTER, build_cluster(resolved, is_stopped=is_stopped))

        async def ensure_certificate() -> None:
            nonlocal certificate_problem
            certificate_problem = await inputs.ensure_tls_secret(resolved)

        async def ensure_pull_secrets() -> None:
            nonlocal missing
            missing = await inputs.ensure_pull_secrets(resolved)

        async def ensure_policy() -> None:
            taints = read_taints(context.cache.backends)
            allowed = resolve_policy(resolved.policy, job=resolved.spec, taints=taints, host=context.host)
            await write_policy(context, cluster, allowed)

        async def expose() -> None:
            routes = admit_routes(context.cache, self._hosts, resolved, certificate_problem)
            found.routes, _ = await together(self._expose(resolved, routes), self.openings.ensure(resolved, routes))
            await together(*(guest.ensure(resolved, home) for guest in self._guests))

        async def ensure_plan() -> None:
            if plan.steps:
                await context.applier.ensure(kinds.SECRET, runner_pod.build_plan_secret(home, plan))

        first = (
            ensure_certificate,
            ensure_pull_secrets,
            ensure_object,
            ensure_plan,
            lambda: inputs.templates.ensure(resolved),
            lambda: inputs.ensure_pull_secret(resolved, resolved.app),
            lambda: inputs.snapshots.ensure(resolved),
            lambda: inputs.parameters.ensure(resolved, resolved.secret_parameters),
            ensure_defaults(context, shape, resolved.policy.namespace, [RUNNER_RESOURCES]),
        )

        quota = ensure_quota(context, shape, resolved.policy.namespace, [RUNNER_RESOURCES])
        along = Alongside(first=first, then=(ensure_policy,), last=(expose, quota))
        made = await ensure_cluster(context, replace(shape, nodes_binding_owner=home.nodes_binding_owner), along)
        found.addresses, found.problem = made.addresses, made.problem
        found.note = missing
        return found

    async def _expose(self, resolved: Resolved, routes: Routes) -> Routes:
        """By Ingresses, unless a guest has another way."""
        for guest in self._guests:
            if (found := await guest.expose(resolved, routes)) is not None:
                await ensure_ingresses(self._context, resolved, (), kept=found[1])
                return found[0]
        return await ensure_ingresses(self._context, resolved, routes)

    async def ensure_namespace(self, known: JobIdentity) -> Home:
        """Ensure the job's own namespace. If it was recreated, everything copied into it is copied again."""
        return await self._ensure_home(known.home, known.policy, known.uid)

    async def keep_walls(self, job: Object) -> None:
        """Hold the cluster of a job that is refused to what the class allows now: its network, its quota, its namespace.

        The class is the one that the job names, even if nothing else of its spec can be read. If it is gone, all stays as it is.
        """
        context, home = self._context, find_home(job)

        async def ensure() -> None:
            cluster = context.cache.clusters.get(home.name, home.namespace)
            policy = context.classes.of(job)
            if cluster is None or policy is None:
                return
            policy = apply_size(apply_machine(policy, find_machine_name(job)), read_wishes(job))
            policy = cap_quota(policy, status_of(job).get("reserved"))
            await self._ensure_home(home, policy, job["metadata"]["uid"])
            shape = build_shape(context, NestedClusterSpec.model_validate(spec_of(cluster)), home, policy)
            quota = ensure_quota(context, shape, policy.namespace, [RUNNER_RESOURCES])
            defaults = ensure_defaults(context, shape, policy.namespace, [RUNNER_RESOURCES])
            await together(ensure_policies(context, shape), defaults(), quota())

        await keep_walls(home, ensure())

    async def _ensure_home(self, home: Home, policy: NestedClassSpec, uid: str) -> Home:
        def forget() -> None:
            self._inputs.forget_copies(uid)
            self.openings.forget(home.namespace)

        return await ensure_home(self._context, self._guests, home, policy, forget)


def build_cluster(resolved: Resolved, *, is_stopped: bool) -> Object:
    """The job's NestedCluster, whose spec tells the syncer what to do."""
    spec = resolved.cluster.model_copy(update={"suspend": is_stopped})
    home = resolved.home
    return {"metadata": home.metadata(home.name), "spec": spec.model_dump(by_alias=True, exclude_none=True)}
