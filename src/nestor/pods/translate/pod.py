"""Builds the host pod that runs a nested pod."""

import json
from collections.abc import Collection

from nestor.api import labels as marks
from nestor.api import names
from nestor.api.contracts.cluster import DOMAIN
from nestor.api.objects import Object, annotations_of, keep_few
from nestor.api.placement import Backend, Placement
from nestor.api.policy import Policy
from nestor.pods.translate import (
    containers,
    device_claims,
    downward,
    fields,
    gang,
    hostname,
    labels,
    placement,
    scheduling,
    volumes,
)
from nestor.pods.translate.fields.pods import POD_SPEC
from nestor.pods.translate.fields.rule import POD_SECURITY
from nestor.pods.translate.gang import Membership
from nestor.pods.translate.placement import Place
from nestor.pods.translate.target import Target

APPLIED = f"{marks.GROUP}/applied"
"""Annotation of a host pod: what was last carried over from the nested pod. It tells the tenant's changes from the host's."""

_FIELDS = fields.find(POD_SPEC, "Pass")
_PRIVILEGED = fields.find(POD_SPEC, "Class", POD_SECURITY.note)
_CHANGING = fields.find_changing(POD_SPEC)
_WISHES_LIMIT = 8 * 1024
"""Characters. Every watcher of host pods has to keep them."""
SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}
"""Filled in where a pod says nothing: many kubelets run it without any profile then."""


def build_pod(
    pod: Object,
    target: Target,
    namespaces: scheduling.Namespaces,
    policy: Policy,
    place: Place | None = None,
    membership: Membership | None = None,
) -> Object:
    """The host pod for `pod`. Call only if `refusals.find_refusals` returned nothing. `place`: where it runs, if that is
    decided. `membership`: its gang.
    """
    metadata = target.metadata(pod)
    metadata["labels"] = build_labels(pod, target)
    place = place or placement.decide_place(pod, policy.places)
    if membership and policy.places.gang and policy.places.gang.scheduler == "Kubernetes":
        place = gang.keep_together(place)
    own = build_mark(pod) | placement.build_mark(policy.places, place) | (_build_wishes(pod) if place.backends else {})
    metadata["annotations"] = build_annotations(pod, target) | own
    where = scheduling.build_scheduling(pod, target, namespaces, policy.places, place)
    spec = add_backend_fields(_spec(pod, target, policy) | where, policy.places, place)
    if policy.image_pull_secrets and not place.backends:
        shared = [{"name": names.operators_pull_secret(name)} for name in policy.image_pull_secrets]
        spec["imagePullSecrets"] = [*spec.get("imagePullSecrets", ()), *shared]
    host = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    rules = policy.places.gang
    return gang.join_host(host, membership, rules) if membership and rules else host


def build_labels(pod: Object, target: Target) -> dict[str, str]:
    own: dict[str, str] = target.metadata(pod)["labels"]
    return labels.host_labels(pod["metadata"].get("labels"), target.allowed_labels) | own


def build_annotations(pod: Object, target: Target, kept: Collection[str] = ()) -> dict[str, str]:
    """Only our annotations: a tenant's could configure the host's network or service mesh.

    `kept`: label keys of an existing host pod that stay beside those of today (see `labels.find_kept`).
    """
    own: dict[str, str] = target.metadata(pod)["annotations"]
    return own | downward.build_annotations(pod) | {APPLIED: _applied(pod, target, kept)}


def build_mark(pod: Object) -> dict[str, str]:
    """The annotation that says which generation of the pod is carried over in full; empty if its server counts none."""
    generation = pod["metadata"].get("generation")
    return {marks.NESTED_GENERATION: str(generation)} if generation else {}


def _build_wishes(pod: Object) -> dict[str, str]:
    """What the tenant may want to tell a backend. The host itself does not read it there."""
    notes = {key: value for key, value in annotations_of(pod).items() if not marks.is_reserved(key)}
    return {marks.BACKEND_ANNOTATIONS: json.dumps(keep_few(notes, _WISHES_LIMIT), sort_keys=True)} if notes else {}


def applied(host: Object) -> Object:
    """What was carried over when the host pod was last written (see `APPLIED`)."""
    result: Object = json.loads(annotations_of(host).get(APPLIED) or "{}")
    return result


def _applied(pod: Object, target: Target, kept: Collection[str]) -> str:
    """A digest of all fields that may change after creation; of those that the host's webhooks change as well, what we have set:
    images, and label keys, to remove stale ones later.
    """
    spec, meta = pod["spec"], pod["metadata"]
    images = {item["name"]: item.get("image") for item in [*(spec.get("initContainers") or []), *spec["containers"]]}
    changeable = [
        list(images.items()),
        *(spec.get(field) for field in _CHANGING),
        meta.get("labels"),
        downward.build_annotations(pod),
        [item["name"] for item in spec.get("ephemeralContainers") or []],
    ]
    keys = sorted({*labels.host_labels(meta.get("labels"), target.allowed_labels), *kept})
    digest = names.digest(json.dumps(changeable, sort_keys=True))
    return json.dumps({"digest": digest, "images": images, "labels": keys}, separators=(",", ":"))


def _spec(pod: Object, target: Target, policy: Policy) -> Object:
    own, meta = pod["spec"], pod["metadata"]
    result: Object = {key: own[key] for key in _FIELDS if key in own}
    result |= {
        "containers": containers.build_containers(pod, "containers", target, policy),
        "volumes": volumes.build_volumes(pod, policy),
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "serviceAccountName": "default",
    }
    if policy.pod_security == "Baseline" and (own.get("os") or {}).get("name") != "windows":
        result["securityContext"] = SECCOMP | (own.get("securityContext") or {})
    if policy.pod_security == "Privileged":
        result |= {key: own[key] for key in _PRIVILEGED if key in own}
    if first := containers.build_containers(pod, "initContainers", target, policy):
        result["initContainers"] = first
    if claims := device_claims.build_claims(pod):
        result["resourceClaims"] = claims
    if secrets := own.get("imagePullSecrets"):
        named = [item["name"] for item in secrets if item.get("name")]
        result["imagePullSecrets"] = [{"name": names.host_name(name, meta["namespace"])} for name in named]
    return result | hostname.build_hostname(pod, target) | build_dns(pod, target)


_NAMESERVERS, _SEARCHES = 3, 32  # the API's maximum


def build_dns(pod: Object, target: Target) -> Object:
    """`dnsPolicy` and `dnsConfig` of the host pod. `ClusterFirst` would mean the host's DNS there, so it is spelled out."""
    spec = pod["spec"]
    policy, own = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig") or {}
    if policy == "ClusterFirst" and spec.get("hostNetwork"):
        policy = "Default"  # as on any kubelet
    if policy in ("Default", "None"):
        return {"dnsPolicy": policy} | ({"dnsConfig": own} if own else {})
    domain = f"svc.{DOMAIN}"
    searches = [f"{pod['metadata']['namespace']}.{domain}", domain, DOMAIN]
    options = {item["name"]: item for item in [{"name": "ndots", "value": "5"}, *(own.get("options") or [])]}
    return {
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": _unique([target.dns_ip, *(own.get("nameservers") or [])])[:_NAMESERVERS],
            "searches": _unique([*searches, *(own.get("searches") or [])])[:_SEARCHES],
            "options": list(options.values()),
        },
    }


def _unique(items: list[str]) -> list[str]:
    return list(dict.fromkeys(items))


def add_backend_fields(spec: Object, placement: Placement, place: Place) -> Object:
    """The host pod's spec with what its place adds.

    Resources only if it can only run at a backend: those of a pod cannot depend on the node that it gets. One that may run here
    has them in an annotation, for the backend's virtual node.
    """
    resources = placement.overflow.backend_resources if placement.overflow else None
    result = containers.fill_pod(spec, resources) if place.where == "Backend" and resources is not None else dict(spec)
    if secrets := list_pull_secrets(place.backends):
        result["imagePullSecrets"] = [*(spec.get("imagePullSecrets") or []), *({"name": name} for name in secrets)]
    return result


def list_pull_secrets(backends: tuple[Backend, ...]) -> list[str]:
    named = dict.fromkeys(name for backend in backends for name in backend.image_pull_secrets)
    return [names.operators_pull_secret(name) for name in named]
