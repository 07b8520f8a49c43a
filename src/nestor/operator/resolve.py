"""From what the user wrote and the class allows to what is to be made; or a refusal that says what is allowed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from nestor import names
from nestor.api import conditions, labels
from nestor.api.appdef import NestedKubernetes, explain, read_appdef, read_command
from nestor.api.nestedappjob import App, JobExpose, NestedAppJobSpec
from nestor.api.nestedclass import ClusterPolicy, NestedClassSpec
from nestor.exposure.routes import ExposedJob, Route, plan_routes
from nestor.steps import Plan, PlanError, build_plan

Object = dict[str, Any]


class Refused(Exception):
    """The job cannot be admitted as it is: a reason, and a message for the user."""

    def __init__(self, reason: str, message: str, *, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_seconds = retry_seconds
        """When to look again although no event will come; None: only when something changes."""


@dataclass(frozen=True)
class Resolved:
    """One admitted job."""

    name: str
    namespace: str
    uid: str
    spec: NestedAppJobSpec
    app: App
    """The application, wherever it comes from."""
    policy: NestedClassSpec
    version: str
    image: str
    nested: NestedKubernetes

    @property
    def host_namespace(self) -> str:
        """The job's own namespace in the host cluster."""
        return names.job_namespace(self.name, self.namespace, self.uid)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all its objects."""
        return labels.of_job(self.name, self.namespace, self.uid)

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
            raise Refused(conditions.APPDEF_INVALID, str(error)) from error


def resolve(job: Object, classes: dict[str, NestedClassSpec], cluster: Object | None = None) -> Resolved:
    """The job with its class, version and command; `cluster` is its NestedCluster, if it is made already. Raises `Refused`."""
    meta = job["metadata"]
    try:
        spec = NestedAppJobSpec.model_validate(job["spec"])
    except ValidationError as error:
        raise Refused(conditions.APPDEF_INVALID, explain(error, "spec")) from error
    policy = find_class(spec.class_name, classes)
    app = spec.app or App()
    nested = _read_command(spec, app)
    running = find_running(cluster, meta["uid"])
    version, image = running or choose_version(
        spec.kubernetes_version or nested.kubernetes_version, spec.class_name, policy.cluster,
    )
    return Resolved(
        name=meta["name"], namespace=meta["namespace"], uid=meta["uid"], spec=spec, app=app, policy=policy, version=version,
        image=image, nested=nested,
    )


def find_class(name: str, classes: dict[str, NestedClassSpec]) -> NestedClassSpec:
    """The class of that name. Raises `Refused`, with the names there are."""
    if name in classes:
        return classes[name]
    known = ", ".join(f"'{item}'" for item in sorted(classes)) or "none"
    raise Refused(conditions.CLASS_NOT_FOUND, f"no NestedClass named '{name}'; there are: {known}")


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


def _read_command(spec: NestedAppJobSpec, source: App) -> NestedKubernetes:
    try:
        app = read_appdef(source.app_def or {})
    except ValueError as error:
        raise Refused(conditions.APPDEF_INVALID, str(error)) from error
    known = ", ".join(f"'{item}'" for item in app.commands)
    if spec.command is None and len(app.commands) > 1:
        raise Refused(conditions.COMMAND_NOT_FOUND, f"`command` must be set, because the AppDef has several: {known}")
    command = spec.command or next(iter(app.commands))
    if command not in app.commands:
        raise Refused(conditions.COMMAND_NOT_FOUND, f"the AppDef has no command '{command}'; it has: {known}")
    try:
        return read_command(app, command)
    except ValueError as error:
        raise Refused(conditions.APPDEF_INVALID, str(error)) from error
