"""Where the pods of one job may run: what its class says, its machine, and its own wishes as far as they are allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, get_args

from nestor.api import conditions, data
from nestor.api.appdef import ANY_MACHINE
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.placement import MOST, Names, Overflow, OverflowMode, Placement
from nestor.api.placement_rules import ClassPlacement, JobOverflow, JobPlacement, Machine
from nestor.api.taints import read_toleration
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.world.host_facts import Taints
from nestor.pods.translate.labels import is_listed
from nestor.pods.translate.scheduling import is_allowed

_MODES: tuple[OverflowMode, ...] = get_args(OverflowMode)
"""Each lets more pods out than the one before."""
_LIMITS = ("local_parallelism", "backend_parallelism")


def narrow(said: Overflow, wish: JobOverflow) -> Overflow:
    """The class's rules as they hold for the job. What it wishes beyond them comes to what the class says."""
    changes: dict[str, Any] = {}
    if wish.mode is not None:
        changes["mode"] = min(said.mode, wish.mode, key=_MODES.index)
    if wish.gpu in _list_gpu_places(said):
        changes["gpu"] = wish.gpu
    if wish.backends is not None:
        changes["backends"] = [item for item in said.backends if item.name in wish.backends]
    if wish.completions_trigger is not None and _is_trigger_allowed(said, wish.completions_trigger):
        changes["completions_trigger"] = wish.completions_trigger
    for field in _LIMITS:
        if (own := getattr(wish, field)) is not None and not _is_fixed(field, said, wish):
            changes[field] = min(filter(None, (own, getattr(said, field))), default=0)
    return replace(said, **changes)


def find_excess(said: Overflow | None, wish: JobOverflow) -> Iterator[str]:
    """Why the wish is more than the class allows. `said`: None if the class lets no pod out."""
    backends = [item.name for item in said.backends] if said else []
    for name in wish.backends or []:
        if name not in backends:
            yield f"`spec.placement.overflow.backends` must not contain '{name}': {list_allowed(backends)}"
    if said is None or not backends:
        fields = [("mode", wish.mode not in (None, "Never")), ("gpu", wish.gpu == "Backend")]
        if asked := [f"`spec.placement.overflow.{field}`" for field, is_asked in fields if is_asked]:
            yield f"{', '.join(asked)} may not ask for a backend: the class allows none"
        return
    modes = _MODES[: _MODES.index(said.mode) + 1]
    for field, own, allowed in (("mode", wish.mode, modes), ("gpu", wish.gpu, _list_gpu_places(said))):
        if own is not None and own not in allowed:
            yield f"`spec.placement.overflow.{field}` may not be '{own}': {list_allowed(allowed)}"
    yield from _find_wider_numbers(said, wish)


def list_allowed(names: Iterable[str]) -> str:
    """What the class allows, for a message."""
    return "the class allows " + (", ".join(f"'{item}'" for item in names) or "none")


def _find_wider_numbers(said: Overflow, wish: JobOverflow) -> Iterator[str]:
    trigger, least = wish.completions_trigger, said.completions_trigger
    if trigger is not None and not _is_trigger_allowed(said, trigger):
        allowed = f"{least} or more, and 0" if least else "only 0"
        yield f"`spec.placement.overflow.completionsTrigger` may not be {trigger}: the class allows {allowed}"
    for field in _LIMITS:
        own, most = getattr(wish, field), getattr(said, field)
        spelled = JobOverflow.model_fields[field].alias
        if own is not None and _is_fixed(field, said, wish):
            if own != most:
                yield f"`spec.placement.overflow.{spelled}` may not be {own} under `mode: WhenFull`: the class allows only {most}"
        elif own is not None and most and not 0 < own <= most:
            yield f"`spec.placement.overflow.{spelled}` may not be {own or '0, for no limit'}: the class allows at most {most}"


def _is_fixed(field: str, said: Overflow, wish: JobOverflow) -> bool:
    """Under `WhenFull`, what is above the limit here goes out: a lower one would send out more, and a higher one is no limit."""
    return field == "local_parallelism" and said.mode == "WhenFull" and wish.mode != "Never"


def _list_gpu_places(said: Overflow) -> tuple[str, ...]:
    if said.gpu != "Any":
        return (said.gpu,)
    # Under `Never`, `Any` means that pods with a GPU stay as well.
    return ("Host", "Any") if said.mode == "Never" else ("Host", "Backend", "Any")


def _is_trigger_allowed(said: Overflow, trigger: int) -> bool:
    """A lower number of completions sends more Jobs out, and 0 none."""
    least = said.completions_trigger
    return trigger == 0 or said.mode == "Always" or 0 < least <= trigger


_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Resolved:
    """What came of a job's wishes."""

    placement: Placement | None
    """None if neither class nor job say anything."""
    problems: tuple[str, ...] = ()
    """Those that the class does not allow; the others are in the placement."""


def check_placement(policy: NestedClassSpec, job: NestedAppJobSpec) -> None:
    """Raises `Refused` for a machine that the class does not have, and for wishes that it does not allow."""
    machines = policy.placement.machines if policy.placement else []
    if job.machine and find_machine(policy, job.machine) is None:
        message = f"class '{job.class_name}' has no machine named '{job.machine}'; available: {_list_machines(machines)}"
        raise Refused(conditions.MACHINE_NOT_FOUND, message)
    if problems := resolve_placement(policy, job).problems:
        raise Refused(conditions.PLACEMENT_NOT_ALLOWED, f"{'; '.join(problems)} (class '{job.class_name}')")


def choose_machine(known: JobIdentity, patterns: Sequence[str], *, is_counted: bool = False) -> JobIdentity:
    """The job with the machine that it gets: its own; the class's default one; or the first that the AppDef takes.

    `patterns`: the AppDef's `machines`, where `*` and `?` stand for any characters; empty: all. `is_counted`: Kueue has admitted
    the job. Raises `Refused`.
    """
    machines = known.policy.placement.machines if known.policy.placement else []
    if not machines:
        return known
    taken = [item for item in machines if not patterns or any(fnmatchcase(item.name, pattern) for pattern in patterns)]
    wanted = find_machine(known.policy, known.spec.machine)
    if wanted is None and len(taken) == len(machines):
        return known  # without a default machine, an application that takes any gets none
    if wanted not in taken:
        # What a job counts for in a queue must be known before its AppDef is.
        if known.spec.machine or not taken or known.policy.queue.quota or is_counted:
            raise Refused(conditions.MACHINE_NOT_FOUND, _explain_choice(known, patterns, taken, wanted))
        wanted = taken[0]
    return replace(known, spec=known.spec.model_copy(update={"machine": wanted.name}))


def _explain_choice(known: JobIdentity, patterns: Sequence[str], taken: Sequence[Machine], wanted: Machine | None) -> str:
    machines = known.policy.placement.machines if known.policy.placement else []
    what = f"machine '{wanted.name}' does not suit the application" if wanted else "a machine must be set for the application"
    there = f"these do: {_list_machines(taken)}" if taken else f"none does: it has {_list_machines(machines)}"
    listed = ", ".join(f"'{pattern}'" for pattern in patterns)
    return f"{what}, whose AppDef takes {listed} (`appDef.machines`); of class '{known.class_name}', {there}"


def explain_machines(known: JobIdentity, patterns: Sequence[str]) -> str | None:
    """What to say of an AppDef's `machines` where the class has none; None if there is nothing to say."""
    if not patterns or ANY_MACHINE in patterns or (known.policy.placement and known.policy.placement.machines):
        return None
    listed = ", ".join(f"'{pattern}'" for pattern in patterns)
    return f"`appDef.machines` ({listed}) has no effect: class '{known.class_name}' has no machines"


def _list_machines(machines: Sequence[Machine]) -> str:
    return ", ".join(f"'{item.name}'" + (f" ({item.description})" if item.description else "") for item in machines) or "none"


def find_machine(policy: NestedClassSpec, name: str | None) -> Machine | None:
    """The machine of a job that asks for `name`, or for none; None if there is no such machine."""
    if policy.placement is None:
        return None
    wanted = name or policy.placement.default_machine
    return next((item for item in policy.placement.machines if item.name == wanted), None)


def apply_machine(policy: NestedClassSpec, name: str | None) -> NestedClassSpec:
    """The class with the quota of a job's machine."""
    machine = find_machine(policy, name)
    if machine is None or machine.quota is None:
        return policy
    quota = {**(policy.namespace.quota or {}), **machine.quota}
    return policy.model_copy(update={"namespace": policy.namespace.model_copy(update={"quota": quota})})


def resolve_placement(policy: NestedClassSpec, job: NestedAppJobSpec | None) -> Resolved:
    """The placement of a job's pods. `job` is None if its spec cannot be read: then it has no wishes."""
    said = policy.placement or ClassPlacement()
    base = Placement(**{name: getattr(said, name) for name in data.list_names(Placement)})  # without what only classes have
    if machine := find_machine(policy, job.machine if job else None):
        base = _add(base, machine.node_selector, [*base.tolerations, *machine.tolerations])
    wishes = job.placement if job and job.placement else JobPlacement()
    problems = [*_check_nodes(wishes, base), *_check_names(wishes, base)]
    problems += find_excess(base.overflow, wishes.overflow) if wishes.overflow is not None else ()
    found = _apply(wishes, base)
    return Resolved(found if found != Placement() else None, tuple(problems))


def tolerate_backends(placement: Placement | None, taints: Taints) -> Placement | None:
    """The placement with tolerations for the nodes of those backends of which the class says none. `taints`: what is known of
    OverflowBackends. A taint that only discourages is not tolerated: it is how an admin has the host's own nodes preferred.
    """
    if placement is None or placement.overflow is None:
        return placement
    backends = [
        replace(item, tolerations=[f"{it.key}={it.value}:{it.effect}" for it in taints[item.name] if it.effect in _HARD])
        if item.tolerations is None and item.name in taints
        else item
        for item in placement.overflow.backends
    ]
    return replace(placement, overflow=replace(placement.overflow, backends=backends))


def _add(base: Placement, selector: dict[str, str], tolerations: list[str]) -> Placement:
    return replace(base, node_selector=base.node_selector | selector, tolerations=tolerations[:MOST])


def _apply(wishes: JobPlacement, base: Placement) -> Placement:
    """The base with those wishes that are allowed."""
    allowed, there = base.allowed_node_labels, base.node_selector
    selector = {
        key: value
        for key, value in wishes.node_selector.items()
        if (allowed is None or is_listed(key, allowed)) and key not in there
    }
    tolerations = [item for item in wishes.tolerations if is_allowed(read_toleration(item), base)]
    found = _add(base, selector, [*base.tolerations, *tolerations])
    chosen: dict[str, Any] = {}
    for name, field, _ in _list_names(wishes):
        known: Names = getattr(base, field)
        chosen[field] = replace(known, default=known.find(name))
    if base.overflow is not None and wishes.overflow is not None:
        chosen["overflow"] = narrow(base.overflow, wishes.overflow)
    return replace(found, **chosen)


def _list_names(wishes: JobPlacement) -> list[tuple[str, str, str]]:
    """The names that the job wishes, each with the class's field that allows it, and with how its own is written."""
    found = (
        (wishes.scheduler_name, "schedulers", "schedulerName"),
        (wishes.priority_class_name, "priority_classes", "priorityClassName"),
        (wishes.runtime_class_name, "runtime_classes", "runtimeClassName"),
    )
    return [(name, field, spelled) for name, field, spelled in found if name]


def _check_nodes(wishes: JobPlacement, base: Placement) -> Iterator[str]:
    allowed, there = base.allowed_node_labels, base.node_selector
    for key, value in wishes.node_selector.items():
        if allowed is not None and not is_listed(key, allowed):
            yield f"`spec.placement.nodeSelector` must not contain '{key}': {list_allowed(allowed)}"
        elif there.get(key, value) != value:
            yield f"`spec.placement.nodeSelector` must not have '{value}' for '{key}': the pods have to run on '{there[key]}'"
    for item in wishes.tolerations:
        if not is_allowed(read_toleration(item), base):
            yield f"`spec.placement.tolerations` must not contain '{item}': {list_allowed(base.allowed_tolerations)}"


def _check_names(wishes: JobPlacement, base: Placement) -> Iterator[str]:
    for name, field, spelled in _list_names(wishes):
        known: Names = getattr(base, field)
        if not known.allows(name):
            yield f"`spec.placement.{spelled}` may not be '{name}': {list_allowed(known.allowed)}"
