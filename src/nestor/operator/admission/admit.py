"""Combines what the user wrote with what the class allows: an admitted job, or a refusal that says what is allowed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from nestor.api import conditions, faults, names
from nestor.api.appdef import AppDefError, Chosen, CommandNotFound, NestedKubernetes, choose_command, read_appdef
from nestor.api.appdef_versions import Offer, find_offer
from nestor.api.expose import JobExpose
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object
from nestor.apps.steps import Parameters, Plan, PlanError, Remote, build_plan, check_parameters, list_warnings
from nestor.cluster.exposure.routes import ExposedJob, Route, plan_routes
from nestor.cluster.shape import Host
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.checks import check_deadline, check_image
from nestor.operator.admission.cluster_spec import complete_spec, find_running
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.placement import apply_machine, check_placement, choose_machine, explain_machines
from nestor.operator.admission.secret_parameters import RETRY_SECONDS, SecretParameters
from nestor.operator.admission.storage import apply_size, check_storage
from nestor.operator.admission.turn import Turn
from nestor.operator.world.host_facts import build_remote

JOBS_PARAMETERS = "`spec.parameters"
"""Prefix of messages about the job's own parameters, in `spec.parametersFrom` too; all others are about the AppDef's."""


@dataclass(frozen=True, kw_only=True)
class Resolved(JobIdentity):
    """One admitted job."""

    app: AppSource
    """The application, wherever it comes from."""
    cluster: NestedClusterSpec
    """The complete spec of its nested cluster."""
    command: str
    """The ID of the AppDef command it runs."""
    nested: NestedKubernetes
    parameters: Parameters
    """The job's parameters, checked, with defaults filled in."""
    remote: Remote
    """What its steps may download."""
    secret_parameters: SecretParameters | None = None
    """Those from a Secret, as they are copied; they are among `parameters` already."""
    warnings: tuple[str, ...] = ()
    """What the user should know even though the job is admitted."""
    is_shared: bool = False
    """A job of another namespace may have the same label in its host."""
    turn: Turn = field(default_factory=Turn)
    """What it gets with its turn to run."""
    reserved: dict[str, str] | None = None
    """What it counts for in a queue while it runs, if anything is counted; its quota is not above it."""

    @property
    def version(self) -> str:
        """Kubernetes version of its cluster."""
        return self.cluster.kubernetes_version or ""

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The URLs at which the AppDef's targets will be reachable."""
        expose = self.spec.expose or JobExpose()
        job = ExposedJob(self.name, self.namespace, self.class_name, expose, self.policy.expose, self.is_shared)
        return plan_routes(job, self.nested.targets)

    @property
    def facts(self) -> dict[str, str]:
        """The facts about the job that templates can use."""
        found = {"name": self.name, "namespace": self.namespace}
        if self.routes and self.routes[0].is_open:
            found |= {"host": self.routes[0].host or "", "url": self.routes[0].url or ""}
        return found

    def build_plan(self, source: str, epoch: int) -> Plan:
        """The runner's plan. If the `source` of the templates changes, or the cluster lost its data (a new `epoch`), all steps
        run again. Raises `Refused`.
        """
        base = names.digest(source, str(epoch), length=16)
        if not self.spec.has_app:
            return Plan(hash=base, base=base, steps=())
        try:
            return build_plan(
                self.nested.model_dump(),
                base,
                parameters=self.parameters.values,
                environment=self.parameters.environment,
                facts=self.facts,
                remote=self.remote,
                salt=self.secret_parameters.salt if self.secret_parameters else "",
            )
        except PlanError as error:
            raise Refused(conditions.APPDEF_INVALID, self.app.blame(str(error))) from error


def admit(
    known: JobIdentity,
    source: AppSource,
    cluster: Object | None = None,
    host: Host | None = None,
    given: SecretParameters | None = None,
    turn: Turn | None = None,
    images: Mapping[str, str] = MappingProxyType({}),
) -> Resolved:
    """The job with its command, parameters and version. `cluster` is its NestedCluster if it already exists, `host` the
    cluster it runs in, `given` the content of its Secret with parameters, `turn` what its turn brought, `images` those of K3s,
    by version. Raises `Refused`.
    """
    check_wishes(known)
    if cluster is None:
        check_image(known, source)
    chosen = _choose_command(known, source)
    turn = turn or Turn()
    known = choose_machine(known, chosen.machines, is_counted=turn.app is not None)
    check_storage(known.policy, known.spec)  # again: a machine may have less room
    checked = _check_parameters(known, source, chosen, given)
    offer = _choose_offer(known, chosen)
    asked = known.spec.kubernetes_version or chosen.nested.kubernetes_version
    made_of = _complete_spec(known, offer.version if offer else asked, cluster, images)
    version = made_of.kubernetes_version
    ignored = list_warnings(chosen.nested.model_dump(), chosen.where)
    warnings = [source.blame(item) for item in (*chosen.warnings, *ignored, *checked.warnings)]
    if offer and offer.note and offer.version == version:
        warnings.append(source.blame(offer.note))
    elif asked and asked != version:
        warnings.append(
            f"Kubernetes version '{asked}' of the AppDef is ignored: the cluster already runs {version}; create another job "
            "for another version"
        )
    if unused := explain_machines(known, chosen.machines):
        warnings.append(source.blame(unused))
    warnings += turn.warnings
    return Resolved(
        name=known.name,
        namespace=known.namespace,
        uid=known.uid,
        spec=known.spec,
        policy=apply_size(apply_machine(known.policy, known.spec.machine), known.spec.storage),
        app=source,
        home=known.home,
        cluster=made_of,
        command=chosen.id,
        nested=chosen.nested,
        parameters=checked,
        remote=build_remote(known.policy.template_hosts, host),
        secret_parameters=given,
        warnings=tuple(warnings),
        turn=turn,
    )


def check_wishes(known: JobIdentity) -> None:
    """Raises `Refused` if its class does not allow what the job wants, whatever its application is."""
    check_placement(known.policy, known.spec)
    check_storage(known.policy, known.spec)
    check_deadline(known)


def _choose_offer(known: JobIdentity, chosen: Chosen) -> Offer | None:
    """The version that the AppDef gets; None where it has no say."""
    wanted, policy = chosen.nested.kubernetes_version, known.policy.cluster
    if known.spec.kubernetes_version or not wanted:
        return None
    return find_offer(wanted, policy.versions or [wanted])


def _complete_spec(
    known: JobIdentity, version: str | None, cluster: Object | None, images: Mapping[str, str]
) -> NestedClusterSpec:
    """The desired spec of the job's NestedCluster. Raises `Refused`."""
    spec = NestedClusterSpec(
        class_name=known.class_name, success_policy=known.spec.success_policy, failure_policy=known.spec.failure_policy
    ).model_copy(update={"kubernetes_version": version})
    return complete_spec(spec, known.policy.cluster, find_running(cluster, known.uid), images)


def _check_parameters(known: JobIdentity, source: AppSource, chosen: Chosen, given: SecretParameters | None) -> Parameters:
    own, secret = known.spec.parameters or {}, given.values if given else {}
    where = faults.name_field("appDef.commands", [chosen.id, "parameters"])
    try:
        return check_parameters(chosen.command.parameters, secret | own, where=where, hidden=secret.keys() - own.keys())
    except PlanError as error:
        is_users = any(message.startswith(JOBS_PARAMETERS) for message in error.messages)
        reason = conditions.PARAMETERS_INVALID if is_users else conditions.APPDEF_INVALID
        # Secrets are not watched: a corrected one must be looked for.
        again = RETRY_SECONDS if secret else None
        raise Refused(reason, source.blame(str(error)) if not is_users else str(error), retry_seconds=again) from error


def _choose_command(known: JobIdentity, source: AppSource) -> Chosen:
    if source.app_def is None:
        raise Refused(conditions.READING_APPDEF, f"the AppDef is in image '{source.image}'", status="Unknown")
    try:
        return choose_command(read_appdef(source.app_def), known.spec.command)
    except CommandNotFound as error:
        raise Refused(conditions.COMMAND_NOT_FOUND, source.blame(str(error))) from error
    except AppDefError as error:
        raise Refused(conditions.APPDEF_INVALID, source.blame(str(error))) from error
