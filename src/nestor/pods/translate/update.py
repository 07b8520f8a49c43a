"""Patches that carry later changes of a nested pod to its host pod."""

from collections.abc import Mapping

from nestor.api import labels as marks
from nestor.api.images import is_allowed, name_on_host
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of
from nestor.api.policy import Policy
from nestor.pods.translate import containers, downward, pod, refusals, scheduling
from nestor.pods.translate import labels as spellings
from nestor.pods.translate.target import Target

_RESIZABLE = ("requests", "limits")


def build_update(nested: Object, host: Object, target: Target, policy: Policy) -> Object | None:
    """A strategic merge patch that brings the host pod up to date, or None if nothing changed.

    Compares with what was last carried over, not with the host pod itself, so that changes by the host's webhooks stay.
    """
    before = pod.applied(host).get("labels") or []
    nested = _keep_images(nested, pod.applied(host).get("images") or {}, policy)
    kept = spellings.find_kept(before, labels_of(host), labels_of(nested))
    annotations = pod.build_annotations(nested, target, kept)
    old = annotations_of(host)
    if old.get(pod.APPLIED) == annotations[pod.APPLIED]:
        return None
    stale = {key: None for key in old if key.startswith(downward.PREFIX) and key not in annotations}
    labels = pod.build_labels(nested, target)
    gone = {key: None for key in before if key not in labels and key not in kept}
    return {
        "metadata": {"uid": host["metadata"]["uid"], "labels": labels | gone, "annotations": annotations | stale},
        "spec": _spec(nested, host, policy),
    }


def build_isolation(host: Object, wanted: Mapping[str, str]) -> Object | None:
    """A patch of the labels that say in which directions policies isolate the host pod, or None if they do."""
    there = labels_of(host)
    keys = (marks.ISOLATED_INGRESS, marks.ISOLATED_EGRESS)
    changed = {key: wanted.get(key) for key in keys if there.get(key) != wanted.get(key)}
    return {"metadata": {"uid": host["metadata"]["uid"], "labels": changed}} if changed else None


def build_debug(nested: Object, host: Object, target: Target, policy: Policy) -> Object | None:
    """A patch that adds ephemeral containers (`kubectl debug`) to the host pod, or None if there is no new one that may run."""
    known = {item["name"] for item in host["spec"].get("ephemeralContainers") or []}
    wanted = refusals.find_permitted_debug(nested, policy) - known
    built = containers.build_containers(nested, "ephemeralContainers", target, policy)
    fresh = [item for item in built if item["name"] in wanted]
    return {"spec": {"ephemeralContainers": fresh}} if fresh else None


def build_patience(host: Object, policy: Policy) -> Object | None:
    """A patch that lets a host pod on a virtual node stay there while its backend is away, or None if nothing changes."""
    found = scheduling.extend_tolerations(host, policy.places)
    return {"spec": {"tolerations": found}} if found is not None else None


def build_resize(nested: Object, host: Object) -> Object | None:
    """A patch of the host pod's resources (in-place resize), or None. Defaults that the host added stay."""
    own, there = nested["spec"], host["spec"]
    spec: Object = {}
    sidecars = [item for item in own.get("initContainers") or [] if item.get("restartPolicy") == "Always"]
    for group, items in (("containers", own["containers"]), ("initContainers", sidecars)):
        now = {item["name"]: item.get("resources") for item in there.get(group) or []}
        found = [(item["name"], _resize(item.get("resources"), now.get(item["name"]))) for item in items]
        if changed := [{"name": name, "resources": resources} for name, resources in found if resources]:
            spec[group] = changed
    if resources := _resize(own.get("resources"), there.get("resources")):
        spec["resources"] = resources
    return {"spec": spec} if spec else None


def build_mark(nested: Object, host: Object) -> Object | None:
    """A patch that notes the nested pod's generation; send it once everything else is carried over. None if it is noted already.

    A deletion counts as a generation too, but nobody waits until it has been observed.
    """
    mark = pod.build_mark(nested)
    if is_terminating(nested) or mark.items() <= annotations_of(host).items():
        return None
    return {"metadata": {"annotations": mark}}


def _keep_images(nested: Object, before: Mapping[str, str], policy: Policy) -> Object:
    """The pod with the images that it had in place of new ones that are not allowed, which may be allowed later."""
    if policy.allowed_images is None or not before:
        return nested
    spec = dict(nested["spec"])
    for group in ("containers", "initContainers"):
        spec[group] = [
            item if is_allowed(item.get("image") or "", policy.allowed_images) else item | {"image": before.get(item["name"])}
            for item in spec.get(group) or []
        ]
    return nested | {"spec": {key: value for key, value in spec.items() if value or key in nested["spec"]}}


def _resize(wanted: Object | None, there: Object | None) -> Object | None:
    """The requests and limits to set, or None if all that are wanted are there."""
    parts = {part: wanted[part] for part in _RESIZABLE if part in wanted} if wanted else {}
    is_there = all(((there or {}).get(part) or {}).get(name) == value for part in parts for name, value in parts[part].items())
    return None if is_there else parts


def _spec(nested: Object, host: Object, policy: Policy) -> Object:
    own, result = nested["spec"], {}
    before = pod.applied(host).get("images") or {}
    for group in ("containers", "initContainers"):
        changed = [item for item in own.get(group) or [] if item.get("image") != before.get(item["name"])]
        if changed:
            named = {item["name"]: name_on_host(item["image"], policy.allowed_images) for item in changed}
            result[group] = [{"name": name, "image": image} for name, image in named.items()]
    if own.get("activeDeadlineSeconds") is not None:
        result["activeDeadlineSeconds"] = own["activeDeadlineSeconds"]
    there = host["spec"].get("tolerations") or []
    if added := [item for item in scheduling.find_own(own, policy.places) if not scheduling.is_carried(item, there)]:
        result["tolerations"] = [*there, *added]
    return result
