"""From what the user wrote and the class allows to what is to be made; or a refusal that says what is allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from nestor import names
from nestor.api import conditions, faults, labels
from nestor.api.appdef import AppDefError, Chosen, CommandNotFound, NestedKubernetes, choose_command, read_appdef
from nestor.api.nestedappjob import JobExpose
from nestor.api.nestedclass import ClusterPolicy, NestedClassSpec
from nestor.cluster.shape import Host
from nestor.exposure.routes import ExposedJob, Route, plan_routes
from nestor.objects import Object, labels_of, spec_of
from nestor.operator.admission.app_source import AppSource, find_source
from nestor.operator.admission.identity import Known, Refused, find_class, identify
from nestor.operator.world.remote import build_remote
from nestor.steps import Parameters, Plan, PlanError, Remote, build_plan, check_parameters

__all__ = ["JOBS_PARAMETERS", "Refused", "Resolved", "admit", "choose_version", "find_class", "find_running", "resolve"]


JOBS_PARAMETERS = "`spec.parameters"
"""How messages about what a job says begin; the others are about the AppDef's declaration."""


@dataclass(frozen=True, kw_only=True)
class Resolved(Known):
    """One admitted job."""

    app: AppSource
    """The application, wherever it comes from."""
    version: str
    image: str
    """Of the nested cluster."""
    command: str
    """Which of the AppDef's commands it is."""
    nested: NestedKubernetes
    parameters: Parameters
    """The job's, checked and with their defaults."""
    remote: Remote
    """What its steps may fetch from elsewhere."""
    warnings: tuple[str, ...] = ()
    """What the user should know although the job is admitted; whole sentences."""

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Where the AppDef's targets are to be reached."""
        expose = self.spec.expose or JobExpose()
        job = ExposedJob(self.name, self.namespace, self.spec.class_name, expose, self.policy.expose)
        return plan_routes(job, self.nested.targets)

    @property
    def facts(self) -> dict[str, str]:
        """What templates may say about the job."""
        found = {"name": self.name, "namespace": self.namespace}
        if self.routes and self.routes[0].is_open:
            found |= {"host": self.routes[0].host or "", "url": self.routes[0].url or ""}
        return found

    def build_plan(self, source: str, epoch: int) -> Plan:
        """The runner's plan. With another `source` of templates, or in a cluster that lost its data (another `epoch`), nothing
        counts that was done before. Raises `Refused`.
        """
        base = names.digest(source, str(epoch), length=16)
        try:
            return build_plan(
                self.nested.model_dump(),
                base,
                parameters=self.parameters.values,
                environment=self.parameters.environment,
                facts=self.facts,
                remote=self.remote,
            )
        except PlanError as error:
            raise Refused(conditions.APPDEF_INVALID, self.app.blame(str(error))) from error


def resolve(
    job: Object, classes: dict[str, NestedClassSpec], cluster: Object | None = None, apps: Iterable[Object] = ()
) -> Resolved:
    """The job with all that it names. Raises `Refused`, also where an AppDef would have to be read from an image."""
    known = identify(job, classes)
    return admit(known, find_source(known, apps), cluster)


def admit(known: Known, source: AppSource, cluster: Object | None = None, host: Host | None = None) -> Resolved:
    """The job with its command, parameters and version; `cluster` is its NestedCluster, if it is made already, `host` the
    cluster that it runs in. Raises `Refused`.
    """
    chosen = _choose_command(known, source)
    checked = _check_parameters(known, source, chosen)
    running = find_running(cluster, known.uid)
    wanted = known.spec.kubernetes_version or chosen.nested.kubernetes_version
    version, image = running or choose_version(wanted, known.spec.class_name, known.policy.cluster)
    warnings = [source.blame(item) for item in (*chosen.warnings, *checked.warnings)]
    if wanted and wanted != version:
        warnings.append(
            f"Kubernetes version '{wanted}' of the AppDef is not followed: the cluster is made with {version}, and another "
            "version takes another job"
        )
    return Resolved(
        name=known.name,
        namespace=known.namespace,
        uid=known.uid,
        spec=known.spec,
        policy=known.policy,
        app=source,
        version=version,
        image=image,
        command=chosen.id,
        nested=chosen.nested,
        parameters=checked,
        remote=build_remote(known.policy.templates.remote, host),
        warnings=tuple(warnings),
    )


def _check_parameters(known: Known, source: AppSource, chosen: Chosen) -> Parameters:
    where = faults.name_field("appDef.commands", [chosen.id, "parameters"])
    try:
        return check_parameters(chosen.command.parameters, known.spec.parameters, where=where)
    except PlanError as error:
        is_users = any(message.startswith(JOBS_PARAMETERS) for message in error.messages)
        reason = conditions.PARAMETERS_INVALID if is_users else conditions.APPDEF_INVALID
        raise Refused(reason, source.blame(str(error)) if not is_users else str(error)) from error


def find_running(cluster: Object | None, job_uid: str) -> tuple[str, str] | None:
    """Version and image of the job's cluster, once it is made. A class that changes is for those who come after it:
    another version cannot be had without losing the cluster, and the image of a running one is none of the class's business.
    """
    if cluster is None or labels_of(cluster).get(labels.JOB_UID) != job_uid:
        return None
    spec = spec_of(cluster)
    version, image = spec.get("kubernetesVersion"), spec.get("image")
    return (version, image) if version and image else None


def choose_version(wanted: str | None, class_name: str, policy: ClusterPolicy) -> tuple[str, str]:
    """Version and image. Raises `Refused`, with the versions there are."""
    table = {entry.version: entry.image for entry in policy.versions}
    version = wanted or policy.default_version or max(table, key=_sort_key)
    if version not in table:
        known = ", ".join(sorted(table, key=_sort_key))
        raise Refused(
            conditions.VERSION_UNSUPPORTED,
            f"Kubernetes version '{version}' is not offered by class '{class_name}'; it has: {known}",
        )
    return version, table[version]


def _sort_key(version: str) -> list[int]:
    return [int(part) for part in version.lstrip("v").split(".") if part.isdigit()]


def _choose_command(known: Known, source: AppSource) -> Chosen:
    if source.app_def is None:
        raise Refused(conditions.READING_APPDEF, f"the AppDef is in image '{source.image}'", status="Unknown")
    try:
        return choose_command(read_appdef(source.app_def), known.spec.command)
    except CommandNotFound as error:
        raise Refused(conditions.COMMAND_NOT_FOUND, source.blame(str(error))) from error
    except AppDefError as error:
        raise Refused(conditions.APPDEF_INVALID, source.blame(str(error))) from error
