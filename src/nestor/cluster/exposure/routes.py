"""Turns an AppDef's targets into routes: the host of each, or the reason why it gets none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from nestor.api import conditions, names
from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy, JobExpose
from nestor.cluster.exposure import hosts, ingress

Refusal = tuple[str, str]
"""A condition's reason, and a message."""


@dataclass(frozen=True)
class ExposedJob:
    """What routes depend on in addition to the targets."""

    name: str
    namespace: str
    class_name: str
    expose: JobExpose
    policy: ExposePolicy
    is_shared: bool = False
    """A job of another namespace may have the same label, `<job>-<namespace>`; the hosts get a hash."""


@dataclass(frozen=True)
class Route:
    """One target, with its URL or the reason why it has none."""

    target: Target
    ingress: str
    """Name of its Ingress. A host keeps its Ingress even if the Service behind it changes."""
    host: str | None = None
    url: str | None = None
    refusal: Refusal | None = None
    """Why it has no Ingress; or, if it `is_kept`, why its URL may lead elsewhere."""
    is_kept: bool = False
    """Its Ingress stays in spite of the refusal: what other people create must not take down a running job."""
    is_requested: bool = True
    """Whether the job asks for it: `Exposed` only waits for requested routes."""
    is_default: bool = True
    note: str = ""
    """What its author should know even though it works."""

    @property
    def is_open(self) -> bool:
        return self.host is not None and (self.refusal is None or self.is_kept)


def plan_routes(job: ExposedJob, targets: Sequence[Target]) -> tuple[Route, ...]:
    """A route for each target, in order; duplicates share one."""
    fault = ingress.find_annotation_fault(job.expose.annotations, job.class_name, job.policy)
    counts = Counter(_identify(target) for target in targets)
    unique = {_identify(target): target for target in reversed(targets)}
    routes: list[Route] = []
    for key in counts:
        target = unique[key]
        note = f"listed {counts[key]} times in the AppDef's `targets`, exposed once" if counts[key] > 1 else ""
        if not routes:
            routes.append(_plan_first(job, target, note))
        else:
            routes.append(_plan_further(job, target, note, {route.host for route in routes if route.host}))
    return tuple(replace(route, refusal=fault) if fault and route.is_open else route for route in routes)


def _identify(target: Target) -> tuple[str, str, int]:
    return target.service_namespace, target.service_name, target.service_port


def _plan_first(job: ExposedJob, target: Target, note: str) -> Route:
    wanted = job.expose.host
    host = hosts.choose_host(job.name, job.namespace, wanted, job.policy, is_shared=job.is_shared)
    if host:
        url = ingress.build_url(host, job.policy)
        is_default = hosts.is_default(host, job.name, job.namespace, job.policy, is_shared=job.is_shared)
        return Route(target, job.name, host, url, is_default=is_default, note=note)
    if wanted:
        refusal = conditions.HOST_NOT_ALLOWED, hosts.explain_not_allowed(wanted, job.class_name, job.policy)
        return Route(target, job.name, refusal=refusal, note=note)
    refusal = conditions.NOT_REQUESTED, "the class has no `expose.domain`, and the job sets no `expose.host`"
    return Route(target, job.name, refusal=refusal, is_requested=False, note=note)


def _plan_further(job: ExposedJob, target: Target, note: str, taken: set[str]) -> Route:
    if not job.expose.all_targets:
        message = "not exposed: only the AppDef's first target is, unless the job sets `expose.allTargets: true`"
        refusal = conditions.NOT_REQUESTED, message
        return Route(target, "", refusal=refusal, is_requested=False, note=note)
    domain = job.policy.domain
    if domain is None:
        message = (
            f"Service '{target.service_name}' is an additional target and gets no host: class '{job.class_name}' has no "
            "`expose.domain`"
        )
        return Route(target, "", refusal=(conditions.HOST_NOT_ALLOWED, message), note=note)
    build = partial(hosts.further_host, name=job.name, namespace=job.namespace, domain=domain, is_shared=job.is_shared)
    prefix = hosts.choose_prefix(target, taken, build)
    host = build(prefix)
    name = names.further_ingress(job.name, prefix)
    return Route(target, name, host, ingress.build_url(host, job.policy), note=note)
