"""What a job needs, as Kueue counts it. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.api.taints import read_toleration
from nestor.operator.admission.placement import resolve_placement
from nestor.operator.admission.turn import find_quota

SERVER, RUNNER, APP = "control-plane", "runner", "app"
_PLAIN = ("cpu", "memory", "ephemeral-storage")
_STORAGE = "requests.storage"


def find_counted(policy: NestedClassSpec, machine: str | None) -> dict[str, str]:
    """The keys of the job's quota that bound what its pods request, by resource. A limit bounds the requests, too."""
    quota = find_quota(policy, machine)
    found = {name.removeprefix("requests."): name for name in quota if name.startswith("requests.") and name != _STORAGE}
    for resource in _PLAIN:
        if f"limits.{resource}" in quota:
            found.setdefault(resource, f"limits.{resource}")
    return found


def build_pod_sets(policy: NestedClassSpec, spec: NestedAppJobSpec, server: list[Object], runner: Object) -> list[Object]:
    """One set each for the nested cluster's own pod, the runner and the application.

    The application's is one pod that requests all that its quota allows: nobody knows yet which pods it will have. `server`: the
    containers of the cluster's own pod, whose K3s may have no image yet; `runner`: the resources of the runner's.
    """
    quota, counted = find_quota(policy, spec.machine), find_counted(policy, spec.machine)
    own = [
        {
            "name": item["name"],
            "image": item["image"] or item["name"],
            "resources": {"requests": _drop_nothing(item["resources"]["requests"])},
        }
        for item in server
    ]
    app = _drop_nothing({resource: quota[key] for resource, key in counted.items()})
    extended = {resource: amount for resource, amount in app.items() if "/" in resource}  # nobody may request less of these
    return [
        _build(SERVER, own),
        _build(RUNNER, [_build_container(RUNNER, {"requests": runner["requests"]})]),
        _build(
            APP,
            [_build_container(APP, ({"requests": app} if app else {}) | ({"limits": extended} if extended else {}))],
            _find_nodes(policy, spec),
        ),
    ]


def find_requests(pod_set: Object) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for container in pod_set["template"]["spec"]["containers"]:
        for name, amount in _drop_nothing((container.get("resources") or {}).get("requests") or {}).items():
            found[name] = found.get(name, Decimal(0)) + pod_set.get("count", 1) * parse_quantity(str(amount))
    return found


def are_same(found: Iterable[Object], wanted: Iterable[Object]) -> bool:
    """Whether both ask for the same: as much, on the same nodes."""
    return _read(found) == _read(wanted)


def are_enough(found: Iterable[Object], wanted: Iterable[Object]) -> bool:
    """Whether the found sets ask for at least as much as the wanted ones."""
    there = {item["name"]: find_requests(item) for item in found}
    return all(
        item["name"] in there and all(there[item["name"]].get(key, -1) >= amount for key, amount in find_requests(item).items())
        for item in wanted
    )


def find_granted(policy: NestedClassSpec, machine: str | None, found: Iterable[Object]) -> Mapping[str, str]:
    """What Kueue has counted for the application, by the keys of the job's quota. What it was not asked for is nothing."""
    asked = next((find_requests(item) for item in found if item["name"] == APP), {})
    keys = {resource: f"requests.{resource}" for resource in asked} | find_counted(policy, machine)
    return {key: write_quantity(asked.get(resource, Decimal(0))) for resource, key in keys.items()}


def _read(pod_sets: Iterable[Object]) -> dict[str, tuple[Object, object, object]]:
    pods = {item["name"]: (find_requests(item), item["template"]["spec"]) for item in pod_sets}
    return {name: (dict(asked), pod.get("nodeSelector"), pod.get("tolerations")) for name, (asked, pod) in pods.items()}


def list_uncounted(policy: NestedClassSpec, spec: NestedAppJobSpec) -> list[str]:
    """What Kueue does not count although pods use it, because nothing bounds it."""
    return [resource for resource in ("cpu", "memory") if resource not in find_counted(policy, spec.machine)]


def _find_nodes(policy: NestedClassSpec, spec: NestedAppJobSpec) -> Object:
    """By these, Kueue knows which flavors will do."""
    placement, _ = resolve_placement(policy, spec)
    if placement is None:
        return {}
    tolerations = [read_toleration(item) for item in placement.tolerations]
    found = {"nodeSelector": placement.node_selector, "tolerations": tolerations}
    return {key: value for key, value in found.items() if value}


def _drop_nothing(requests: Object) -> Object:
    """Without amounts of nothing: Kueue admits no Workload that names a resource for which its queue has no quota."""
    return {resource: amount for resource, amount in requests.items() if parse_quantity(str(amount))}


def _build_container(name: str, resources: Object) -> Object:
    """Kueue never runs it; an image is what makes it a container."""
    return {"name": name, "image": name, "resources": resources}


def _build(name: str, containers: list[Object], more: Object | None = None) -> Object:
    return {"name": name, "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": containers} | (more or {})}}
