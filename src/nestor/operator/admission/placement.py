"""Where the pods of one job may run: what its class says, its machine, and its own wishes as far as they are allowed. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, get_args

from nestor.api import conditions, data
from nestor.api.appdef import ANY_MACHINE
from nestor.api.appdef_keys import suggest
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


def _narrow(said: Overflow | None, wish: JobOverflow) -> tuple[Overflow | None, list[str]]:
    """The class's rules as they hold for the job, and which wishes exceed them. `said`: None if the class lets no pod out."""
    backends = [item.name for item in said.backends] if said else []
    problems = [
        f"`spec.placement.overflow.backends` must not contain '{name}': {list_allowed(backends)}"
        for name in wish.backends or []
        if name not in backends
    ]
    if said is None or not backends:
        fields = [("mode", wish.mode not in (None, "Never")), ("gpu", wish.gpu == "Backend")]
        if asked := [f"`spec.placement.overflow.{field}`" for field, is_asked in fields if is_asked]:
            problems.append(f"{', '.join(asked)} may not ask for a backend: the class allows none")
        return said, problems
    changes: dict[str, Any] = {}
    if wish.backends is not None:
        changes["backends"] = [item for item in said.backends if item.name in wish.backends]
    for field in ("mode", "gpu", "completions_trigger", "local_parallelism", "backend_parallelism"):
        if (own := getattr(wish, field)) is None:
            continue
        if excess := _find_excess(field, own, said, wish):
            problems.append(f"`spec.placement.overflow.{JobOverflow.model_fields[field].alias}` may not be {excess}")
        else:
            changes[field] = own
    return replace(said, **changes), problems


def _find_excess(field: str, own: Any, said: Overflow, wish: JobOverflow) -> str:
    """What a field may not be, and what the class allows in its place; empty if it may."""
    most = getattr(said, field)
    if field in ("mode", "gpu"):
        allowed = _MODES[: _MODES.index(said.mode) + 1] if field == "mode" else _list_gpu_places(said)
        return "" if own in allowed else f"'{own}': {list_allowed(allowed)}"
    if field == "completions_trigger":
        # A lower number of completions sends more Jobs out, and 0 none.
        is_allowed = own == 0 or said.mode == "Always" or 0 < most <= own
        return "" if is_allowed else f"{own}: the class allows " + (f"{most} or more, and 0" if most else "only 0")
    if field == "local_parallelism" and said.mode == "WhenFull" and wish.mode != "Never":
        # What is above this limit goes out: a lower one would send out more, and a higher one is no limit.
        return "" if own == most else f"{own} under `mode: WhenFull`: the class allows only {most}"
    return "" if not most or 0 < own <= most else f"{own or '0, for no limit'}: the class allows at most {most}"


def _list_gpu_places(said: Overflow) -> tuple[str, ...]:
    if said.gpu != "Any":
        return (said.gpu,)
    # Under `Never`, `Any` means that pods with a GPU stay as well.
    return ("Host", "Any") if said.mode == "Never" else ("Host", "Backend", "Any")


def list_allowed(names: Iterable[str]) -> str:
    return "the class allows " + (", ".join(f"'{item}'" for item in names) or "none")


_HARD = ("NoSchedule", "NoExecute")


def check_placement(policy: NestedClassSpec, job: NestedAppJobSpec) -> None:
    """Raises `Refused` for a machine that the class does not have, and for wishes that it does not allow."""
    machines = policy.placement.machines if policy.placement else []
    if job.machine and find_machine(policy, job.machine) is None:
        there_are = _list_machines(machines) + suggest(job.machine, [item.name for item in machines])
        message = f"class '{job.class_name}' has no machine named '{job.machine}'; available: {there_are}"
        raise Refused(conditions.MACHINE_NOT_FOUND, message)
    if problems := resolve_placement(policy, job)[1]:
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
    return policy if machine is None or machine.quota is None else with_quota(policy, machine.quota)


def with_quota(policy: NestedClassSpec, changes: Mapping[str, Any]) -> NestedClassSpec:
    """The class with these amounts in its quota, in place of its own."""
    own = policy.namespace
    return policy.model_copy(update={"namespace": own.model_copy(update={"quota": {**(own.quota or {}), **changes}})})


def resolve_placement(policy: NestedClassSpec, job: NestedAppJobSpec | None) -> tuple[Placement | None, list[str]]:
    """The placement of a job's pods, None if neither class nor job say anything; and what the class does not allow of the job's
    wishes, of which the others are in the placement. `job` is None if its spec cannot be read: then it has no wishes.
    """
    said = policy.placement or ClassPlacement()
    base = Placement(**{name: getattr(said, name) for name in data.list_names(Placement)})  # without what only classes have
    if machine := find_machine(policy, job.machine if job else None):
        base = _add(base, machine.node_selector, [*base.tolerations, *machine.tolerations])
    wishes = job.placement if job and job.placement else JobPlacement()
    found, problems = _choose_nodes(wishes, base)
    names, more = _choose_names(wishes, base)
    overflow, excess = _narrow(base.overflow, wishes.overflow or JobOverflow())
    found = replace(found, overflow=overflow, **names)
    return found if found != Placement() else None, [*problems, *more, *excess]


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


def _choose_nodes(wishes: JobPlacement, base: Placement) -> tuple[Placement, list[str]]:
    """The base with the nodes that the job wishes, as far as they are allowed; and why others are not."""
    allowed, there = base.allowed_node_labels, base.node_selector
    selector: dict[str, str] = {}
    tolerations: list[str] = []
    problems = []
    for key, value in wishes.node_selector.items():
        if allowed is not None and not is_listed(key, allowed):
            problems.append(f"`spec.placement.nodeSelector` must not contain '{key}': {list_allowed(allowed)}")
        elif there.get(key, value) != value:
            said = f"must not have '{value}' for '{key}': the pods have to run on '{there[key]}'"
            problems.append(f"`spec.placement.nodeSelector` {said}")
        else:
            selector[key] = value
    for item in wishes.tolerations:
        if is_allowed(read_toleration(item), base):
            tolerations.append(item)
        else:
            problems.append(f"`spec.placement.tolerations` must not contain '{item}': {list_allowed(base.allowed_tolerations)}")
    return _add(base, selector, [*base.tolerations, *tolerations]), problems


def _choose_names(wishes: JobPlacement, base: Placement) -> tuple[dict[str, Any], list[str]]:
    """The names that pods get that choose none, by the fields that allow them; and why the job may not have others."""
    chosen: dict[str, Any] = {}
    problems = []
    if (wished := wishes.scheduler_name) in base.schedulers:
        chosen["schedulers"] = sorted(base.schedulers, key=lambda name: name != wished)
    elif wished:
        problems.append(f"`spec.placement.schedulerName` may not be '{wished}': {list_allowed(base.schedulers)}")
    for name, field, spelled in (
        (wishes.priority_class_name, "priority_classes", "priorityClassName"),
        (wishes.runtime_class_name, "runtime_classes", "runtimeClassName"),
    ):
        known: Names = getattr(base, field)
        if name and known.allows(name):
            chosen[field] = replace(known, default=known.find(name))
        elif name:
            problems.append(f"`spec.placement.{spelled}` may not be '{name}': {list_allowed(known.allowed)}")
    return chosen, problems
