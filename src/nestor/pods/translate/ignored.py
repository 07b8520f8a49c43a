"""Fields of a pod that have no effect in the host cluster. The pod runs without them, and its owner is told."""

from collections.abc import Iterator
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object
from nestor.api.placement import DEFAULT_SCHEDULER, Names
from nestor.api.policy import Policy
from nestor.api.taints import read_toleration
from nestor.pods.translate import fields, hostname
from nestor.pods.translate.container_status import RUN, list_containers
from nestor.pods.translate.fields import Table
from nestor.pods.translate.fields.containers import CONTAINER
from nestor.pods.translate.fields.pods import POD_SPEC
from nestor.pods.translate.gang import find_name
from nestor.pods.translate.scheduling import is_allowed, list_given
from nestor.pods.translate.target import Target

_OF_KUBERNETES = "node.kubernetes.io/"
"""Taints of this domain are tolerated in every DaemonSet's pods: their controller says so, not the pod's owner."""


def find_ignored(pod: Object, policy: Policy, target: Target) -> list[str]:
    """One message per field; empty for most pods."""
    return [*_check(pod, policy), *hostname.find_ignored(pod, target)]


def _check(pod: Object, policy: Policy) -> Iterator[str]:
    spec, places = pod["spec"], policy.places
    scheduler = spec.get("schedulerName") or DEFAULT_SCHEDULER
    if scheduler != DEFAULT_SCHEDULER:
        yield from _name("schedulerName", scheduler, places.scheduler_names)
    if name := spec.get("priorityClassName"):
        yield from _name("priorityClassName", name, places.priority_classes)
    yield from _find_in_table("spec", spec, POD_SPEC)
    for path, container in list_containers(spec, RUN):
        yield from _find_in_table(path, container, CONTAINER)
    if native := (spec.get("schedulingGroup") or {}).get("podGroupName"):
        if places.gang is None:
            yield f"`spec.schedulingGroup` is '{native}', but the class has no `placement.gang`"
        elif "PodGroup" not in places.gang.groups:
            yield f"`spec.schedulingGroup` is '{native}', but the class looks for no PodGroups (`placement.gang.groups`)"
    if places.gang is None and (gang := find_name(pod)):
        yield f"annotation `{labels.GANG}` is '{gang}', but the class has no `placement.gang`"
    keys = {item.get("key") or "" for item in spec.get("tolerations") or [] if not is_allowed(item, places)}
    keys -= {read_toleration(item).get("key", "") for item in list_given(pod, places)}
    if dropped := sorted(key for key in keys if not key.startswith(_OF_KUBERNETES)):
        taints = ", ".join(f"'{key}'" if key else "all taints" for key in dropped)
        allowed = ", ".join(f"'{item}'" for item in places.allowed_tolerations) or "none"
        yield f"`spec.tolerations` has {taints}, but the class allows {allowed} (`{POD_SPEC['tolerations'].note}`)"


def _find_in_table(path: str, there: Object, table: Table) -> Iterator[str]:
    for field in fields.find(table, "Ignore"):
        if there.get(field):
            yield f"`{path}.{field}` is {_quote(there[field])}, but {table[field].note}"
    yield from fields.find_unknown(path, there, table)


def _quote(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return "true" if value is True else "set"


def _name(field: str, name: str, known: Names) -> Iterator[str]:
    """If a name that a pod chose is not allowed."""
    if not known.allows(name):
        listed = ", ".join(f"'{item}'" for item in known.allowed) or "none"
        yield f"`spec.{field}` is '{name}', but the class allows {listed} (`{POD_SPEC[field].note}`)"
