"""Combines what the user wrote with what the class allows: an admitted job, or a refusal that says what is allowed. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from nestor.api import conditions, data, faults, labels, names
from nestor.api.appdef import AppDefError, Chosen, CommandNotFound, choose_command, read_appdef
from nestor.api.appdef_models import NestedKubernetes
from nestor.api.appdef_versions import find_offer, sort_versions
from nestor.api.class_parts import ClusterPolicy
from nestor.api.expose import ExposePolicy, JobExpose
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, labels_of, spec_of
from nestor.api.policies import Persistence
from nestor.apps.steps import Parameters, Plan, PlanError, Remote, build_plan, check_parameters, list_warnings
from nestor.cluster.exposure.ingress import build_annotations, speaks_https
from nestor.cluster.exposure.routes import ExposedJob, Route, plan_routes
from nestor.cluster.shape import Host
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.checks import apply_size, check_deadline, check_image, check_storage, check_vaults
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.placement import apply_machine, check_placement, choose_machine, explain_machines
from nestor.operator.admission.secret_parameters import RETRY_SECONDS, SecretParameters
from nestor.operator.admission.turn import Turn
from nestor.operator.world.host_facts import build_remote
from nestor.operator.world.kept import find_fault

JOBS_PARAMETERS = "`spec.parameters"
"""Prefix of messages about the job's own parameters, in `spec.parametersFrom` too; all others are about the AppDef's."""


@dataclass(frozen=True, kw_only=True)
class Resolved(JobIdentity):
    app: AppSource
    cluster: NestedClusterSpec
    command: str
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
    reserved: dict[str, str] | None = None
    """What it counts for in a queue while it runs, if anything is counted; its quota is not above it."""

    @property
    def version(self) -> str:
        return self.cluster.kubernetes_version or ""

    @cached_property
    def routes(self) -> tuple[Route, ...]:
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

    def find_expose_policy(self, route: Route, service: Object | None) -> ExposePolicy:
        """The class's policy, with the annotations that this route's target gets. `service`: what the route leads to."""
        policy, own = self.policy.expose, self.spec.expose.annotations if self.spec.expose else None
        facts = {"job": self.name, "namespace": self.namespace, "class": self.class_name, "host": route.host or ""}
        found = build_annotations(policy, facts, own, is_https=speaks_https(service, route.target.service_port))
        return policy.model_copy(update={"annotations": found or None})

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
    check_storage(known.policy, known.spec)
    checked = _check_parameters(known, source, chosen, given)
    offer, wanted = None, chosen.nested.kubernetes_version
    if wanted and not known.spec.kubernetes_version:
        offer = find_offer(wanted, known.policy.cluster.versions or [wanted])
    asked = known.spec.kubernetes_version or wanted
    made_of = _complete_cluster(known, offer.version if offer else asked, cluster, images)
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
    if unmet := check_vaults(known, source, chosen.vaults):
        warnings.append(source.blame(unmet))
    warnings += turn.warnings
    return Resolved(
        **vars(known) | {"policy": apply_size(apply_machine(known.policy, known.spec.machine), known.spec.storage)},
        app=source,
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
    """Raises `Refused` if its class does not allow what the job wants, whatever its application. For storage: `check_storage`."""
    check_placement(known.policy, known.spec)
    check_deadline(known)


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


def _complete_cluster(
    known: JobIdentity, wanted: str | None, cluster: Object | None, images: Mapping[str, str]
) -> NestedClusterSpec:
    """The spec of the job's cluster, with version, image and volume: those that it has, or those to create. Raises `Refused`.

    Class changes only affect new clusters: a version cannot change without losing the cluster, a running cluster keeps its
    image, and a StatefulSet cannot gain or lose a volume.
    """
    policy, made_of = known.policy.cluster, find_running(cluster, known.uid)
    if made_of is None:
        version = choose_version(wanted, known.class_name, policy)
        made_of = version, images.get(version, ""), policy.persistence
    return NestedClusterSpec(
        class_name=known.class_name, success_policy=known.spec.success_policy, failure_policy=known.spec.failure_policy
    ).model_copy(update=dict(zip(("kubernetes_version", "image", "persistence"), made_of, strict=True)))


def find_running(cluster: Object | None, job_uid: str) -> tuple[str, str, Persistence | None] | None:
    """What a job's NestedCluster is made of, if it exists: the operator wrote everything into its spec. Raises `Refused`."""
    if cluster is None or labels_of(cluster).get(labels.JOB_UID) != job_uid:
        return None
    if fault := find_fault(cluster):
        raise Refused(conditions.PROVISIONING_FAILED, f"NestedCluster '{cluster['metadata']['name']}': {fault}")
    spec = spec_of(cluster)
    version, image, volume = spec.get("kubernetesVersion"), spec.get("image"), spec.get("persistence")
    return (version, image, data.read(Persistence, volume) if volume else None) if version and image else None


def choose_version(wanted: str | None, class_name: str, policy: ClusterPolicy) -> str:
    """The wanted version, or the class's first; empty if nobody says what the class offers. Raises `Refused`, listing that."""
    version = wanted or next(iter(policy.versions or ()), "")
    if policy.versions is not None and version not in policy.versions:
        known = ", ".join(sort_versions(policy.versions)) or "none"
        raise Refused(
            conditions.VERSION_UNSUPPORTED,
            f"Kubernetes version '{version}' is not offered by class '{class_name}'; available: {known}",
        )
    return version
