"""Creates and maintains the objects of one admitted job: its nested cluster, the policy for its syncer, and what the job adds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nestor.api import data, labels
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.policy import Policy
from nestor.apps.steps import Plan
from nestor.cluster.home import Home
from nestor.cluster.policies import build_policies
from nestor.cluster.provision import Addresses, ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import kinds
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.checks import apply_size, read_wishes
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import Refused, find_machine_name, identify
from nestor.operator.admission.placement import apply_machine
from nestor.operator.admission.turn import assign_nodes, cap_quota, read_assigned
from nestor.operator.clusters.homes import build_shape, ensure_defaults, ensure_home, ensure_quota, keep_refused, tell_rotation
from nestor.operator.clusters.policy import resolve_policy
from nestor.operator.guest import Guest, Routes
from nestor.operator.job.expose import Openings, admit_routes, ensure_ingresses
from nestor.operator.job.hosts import Hosts
from nestor.operator.job.runner_pod import build_secrets
from nestor.operator.world.context import Context
from nestor.operator.world.host_facts import read_taints
from nestor.operator.world.kept import OVERSIZED
from nestor.operator.world.ownership import find_home


@dataclass(frozen=True)
class Children:
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

    async def ensure(
        self, resolved: Resolved, shape: Shape, plan: Plan, templates: Object | None, *, is_stopped: bool
    ) -> Children:
        """All objects: the namespace; what the cluster's pods need; what needs its Services' addresses; then the server's pod and
        what leads to it. If one part fails, no later part starts. `templates`: the plan's, if they were read in this pass.
        """
        context, inputs, provisioner = self._context, self._inputs, self._context.provisioner
        home = await self.ensure_home(resolved.home, resolved.policy)
        shape = replace(shape, nodes_binding_owner=home.nodes_binding_owner)
        await inputs.ensure_pull_secret(resolved, resolved.app)  # it may refuse: before anything is replaced
        addresses, certificate_problem, missing, cluster, *_ = await together(
            provisioner.ensure_surroundings(shape),
            inputs.ensure_tls_secret(resolved),
            inputs.ensure_pull_secrets(resolved),
            context.applier.ensure(kinds.NESTED_CLUSTER, build_cluster(resolved, is_stopped=is_stopped)),
            *(context.applier.ensure(kinds.SECRET, body) for body in build_secrets(resolved, plan)),
            inputs.ensure_templates(resolved, templates),
            inputs.ensure_snapshot(resolved),
            ensure_defaults(context, shape),
        )
        taints = read_taints(context.cache.backends)
        policy = resolve_policy(resolved.policy, job=resolved.spec, taints=taints, host=context.host)
        await together(provisioner.ensure_access(shape, addresses), write_policy(context, cluster, policy))
        problem, _, routes, _ = await together(
            self._ensure_kubeconfig(shape, addresses),
            provisioner.ensure_server(shape, addresses),
            self._expose(resolved, home, certificate_problem),
            ensure_quota(context, shape),
        )
        # Last: whoever reads of a rotation finds the new kubeconfig.
        await tell_rotation(context, shape)
        return Children(routes, addresses, problem, missing)

    async def _ensure_kubeconfig(self, shape: Shape, addresses: Addresses) -> str | None:
        """Returns the problem instead of failing: the cluster runs even if a user's Secret already has the kubeconfig's name."""
        try:
            await self._context.provisioner.ensure_kubeconfig(shape, addresses.api)
        except ForeignObject as error:
            return f"its kubeconfig could not be written: {error}"
        return None

    async def _expose(self, resolved: Resolved, home: Home, certificate_problem: str | None) -> Routes:
        routes = admit_routes(self._context.cache, self._hosts, resolved, certificate_problem)
        found, _ = await together(self._ensure_routes(resolved, routes), self.openings.ensure(resolved, routes))
        await together(*(guest.ensure(resolved, home) for guest in self._guests))
        return tuple(found)

    async def _ensure_routes(self, resolved: Resolved, routes: Routes) -> Routes:
        """By Ingresses, unless a guest has another way."""
        for guest in self._guests:
            if (found := await guest.expose(resolved, routes)) is not None:
                await ensure_ingresses(self._context, resolved, (), kept=found[1])
                return found[0]
        return await ensure_ingresses(self._context, resolved, routes)

    async def ensure_home(self, home: Home, policy: NestedClassSpec) -> Home:
        """Ensure the job's own namespace. If it was recreated, everything copied into it is copied again."""

        def forget() -> None:
            self._inputs.forget_copies(home.labels[labels.JOB_UID])
            self.openings.forget(home.namespace)

        return await ensure_home(self._context, self._guests, home, policy, forget)

    async def keep_walls(self, job: Object) -> None:
        """Hold the cluster of a job that is refused to what the class allows now: its network, its quota, its namespace.

        The class is the one that the job names, even if nothing else of its spec can be read. If it is gone, all stays as it is.
        """
        context, home = self._context, find_home(job)
        with keep_refused(home, "hold a refused cluster to its class"):
            cluster, policy = context.cache.clusters.get(home.name, home.namespace), context.classes.of(job)
            if cluster is None or policy is None:
                return
            policy = apply_size(apply_machine(policy, find_machine_name(job)), read_wishes(job))
            policy = cap_quota(policy, status_of(job).get("reserved"))
            await self.ensure_home(home, policy)
            shape = build_shape(context, NestedClusterSpec.model_validate(spec_of(cluster)), home, policy)
            await together(
                *(context.applier.ensure(kinds.NETWORK_POLICY, body) for body in build_policies(shape)),
                ensure_defaults(context, shape),
                ensure_quota(context, shape),
            )


def build_cluster(resolved: Resolved, *, is_stopped: bool) -> Object:
    spec = resolved.cluster.model_copy(update={"suspend": is_stopped})
    home = resolved.home
    return {"metadata": home.metadata(home.name), "spec": spec.model_dump(by_alias=True, exclude_none=True)}


async def keep_policy(context: Context, job: Object) -> None:
    """Have the policy of the job's cluster up to date, if there is the cluster; also when the job is refused."""
    home = find_home(job)
    cluster = context.cache.clusters.get(home.name, home.namespace)
    if cluster is not None:
        await write_policy(context, cluster, _resolve(context, job, Policy.read(cluster)))


async def write_policy(context: Context, cluster: Object, policy: Policy) -> None:
    """Write it to the job's NestedCluster, if it differs. The rest of the status is written by others."""
    wanted = _dump(policy)
    if status_of(cluster).get("policy") != wanted:
        await context.apply_status(kinds.NESTED_CLUSTER, cluster, {"policy": wanted})


def _dump(policy: Policy) -> Object:
    """Without an empty node selector: a map whose last key goes by server-side apply becomes null, which the schema refuses."""
    found = data.write(policy)
    placement = found.get("placement") or {}
    if placement.get("nodeSelector") == {}:
        found["placement"] = {key: value for key, value in placement.items() if key != "nodeSelector"}
    return found


def _resolve(context: Context, job: Object, before: Policy) -> Policy:
    """The strictest where the class is gone, or the job cannot be read; its images are those that were allowed before. A job that
    is only too large has its class nevertheless: a change has made it so, and it still runs.
    """
    taints = read_taints(context.cache.backends)
    if OVERSIZED in job:
        rest = NestedAppJobSpec.model_construct(machine=find_machine_name(job))
        return resolve_policy(context.classes.of(job), job=rest, taints=taints, host=context.host, before=before)
    try:
        known = identify(job, context.classes.all(), context.classes.default)
    except Refused:
        return resolve_policy(None, before=before)
    spec = known.spec.model_copy(update={"machine": find_machine_name(job)})
    policy = assign_nodes(known.policy, read_assigned(job))
    return resolve_policy(policy, job=spec, taints=taints, host=context.host)
