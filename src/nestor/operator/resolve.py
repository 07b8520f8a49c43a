"""From what the user wrote and the class allows to what is to be made; or a refusal that says what is allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nestor.api import conditions, labels
from nestor.api.appdef import AppDefError, Chosen, CommandNotFound, NestedKubernetes, choose_command, read_appdef
from nestor.api.nestedappjob import JobExpose
from nestor.api.nestedclass import ClusterPolicy, NestedClassSpec
from nestor.exposure.routes import ExposedJob, Route, plan_routes
from nestor.operator.appsource import AppSource, find_source
from nestor.operator.known import Known, Refused, find_class, identify
from nestor.steps import Plan, PlanError, build_plan

__all__ = ["Refused", "Resolved", "admit", "choose_version", "find_class", "find_running", "resolve"]

Object = dict[str, Any]


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
    warnings: tuple[str, ...] = ()
    """What the user should know although the job is admitted; whole sentences."""

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Where the AppDef's targets are to be reached."""
        expose = self.spec.expose or JobExpose()
        job = ExposedJob(self.name, self.namespace, self.spec.class_name, expose, self.policy.expose)
        return plan_routes(job, self.nested.targets)

    def build_plan(self, source: str, epoch: int) -> Plan:
        """The runner's plan; another `source` of templates or a cluster that lost its data (`epoch`) makes another plan.

        Raises `Refused`.
        """
        try:
            return build_plan(self.nested.model_dump(), f"{source}#{epoch}" if epoch else source)
        except PlanError as error:
            raise Refused(conditions.APPDEF_INVALID, self.app.blame(str(error))) from error


def resolve(
    job: Object, classes: dict[str, NestedClassSpec], cluster: Object | None = None, apps: Iterable[Object] = (),
) -> Resolved:
    """The job with all that it names. Raises `Refused`, also where an AppDef would have to be read from an image."""
    known = identify(job, classes)
    return admit(known, find_source(known, apps), cluster)


def admit(known: Known, source: AppSource, cluster: Object | None = None) -> Resolved:
    """The job with its version and command; `cluster` is its NestedCluster, if it is made already. Raises `Refused`."""
    chosen = _choose_command(known, source)
    running = find_running(cluster, known.uid)
    wanted = known.spec.kubernetes_version or chosen.nested.kubernetes_version
    version, image = running or choose_version(wanted, known.spec.class_name, known.policy.cluster)
    warnings = [source.blame(item) for item in chosen.warnings]
    if wanted and wanted != version:
        warnings.append(
            f"Kubernetes version '{wanted}' of the AppDef is not followed: the cluster is made with {version}, and another "
            "version takes another job",
        )
    return Resolved(
        name=known.name, namespace=known.namespace, uid=known.uid, spec=known.spec, policy=known.policy, app=source,
        version=version, image=image, command=chosen.id, nested=chosen.nested, warnings=tuple(warnings),
    )


def find_running(cluster: Object | None, job_uid: str) -> tuple[str, str] | None:
    """Version and image of the job's cluster, once it is made. A class that changes is for those who come after it:
    another version cannot be had without losing the cluster, and the image of a running one is none of the class's business.
    """
    if cluster is None or (cluster["metadata"].get("labels") or {}).get(labels.JOB_UID) != job_uid:
        return None
    spec = cluster.get("spec") or {}
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
