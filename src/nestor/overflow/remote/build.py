"""A host pod as a pod of another cluster, and the copies that it has there: of ConfigMaps, Secrets, tokens and variables. Pure.

It is placed by that cluster's scheduler, among the machines of the shape whose node the host's scheduler has chosen. What has
done its work in the host cluster stays behind: node, tolerations, affinities, priority, service account.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from nestor.api import labels as marks
from nestor.api import names
from nestor.api.objects import Object, annotations_of, labels_of, owner_reference
from nestor.overflow.remote.refusals import CARRIED, POLICY
from nestor.overflow.remote.settings import Settings
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import NotYet
from nestor.pods.translate import config, containers, downward, env, labels, volumes
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, find_references, find_required
from nestor.pods.translate.hostname import find_hostname
from nestor.pods.translate.node_rules import REQUIRED
from nestor.pods.translate.placement import list_extended_resources
from nestor.pods.translate.pod import SECCOMP
from nestor.pods.translate.scheduling import ALWAYS_ALLOWED

GROUPS = ("initContainers", "containers")
WHOLE = ("activeDeadlineSeconds", "resources")
EACH = ("image", "resources")
"""What can change of a pod that runs, and of each container of it."""
_RESERVED = ("kubernetes.io", "k8s.io")
_COPIED = {CONFIG_MAPS: "ConfigMap", SECRETS: "Secret"}
_VARIABLE = re.compile(r"[-._a-zA-Z0-9]{1,253}")


@dataclass(frozen=True)
class Machines:
    """The machines of a shape, by their labels. None: they do not have the label."""

    labels: tuple[tuple[str, str | None], ...] = ()

    def list_requirements(self) -> list[Object]:
        return [
            {"key": key, "operator": "DoesNotExist"} if value is None else {"key": key, "operator": "In", "values": [value]}
            for key, value in self.labels
        ]


def build_pod(pod: Object, settings: Settings, machines: Machines, *, has_links: bool, is_gated: bool) -> Object:
    """The pod there. `has_links`: its variables are in a ConfigMap; `is_gated`: it must wait for its copies."""
    meta = pod["metadata"]
    result = {
        "name": names.remote_pod(meta["name"], meta["uid"]),
        "namespace": settings.namespace,
        "labels": build_labels(pod, settings),
        "annotations": build_annotations(pod) | {marks.HOST_SPEC: write_json(read_changeable(pod["spec"]))},
    }
    spec = _build_spec(pod, settings, machines, has_links=has_links)
    if is_gated:
        spec["schedulingGates"] = [{"name": marks.INPUTS_GATE}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": result, "spec": spec}


def build_marks(pod: Object, settings: Settings) -> dict[str, str]:
    return {
        marks.MANAGED_BY: "nestor",
        marks.BACKEND: settings.backend,
        marks.BACKEND_UID: settings.uid,
        marks.HOST_UID: pod["metadata"]["uid"],
        marks.HOST_NAMESPACE: pod["metadata"]["namespace"],
    }


def build_labels(pod: Object, settings: Settings) -> dict[str, str]:
    """Our labels; the pod's own are renamed, so that no Service, policy or webhook there takes them for its own."""
    return labels.host_labels(labels_of(pod), ()) | build_marks(pod, settings)


def build_annotations(pod: Object) -> dict[str, str]:
    """What the pod reads of itself, and what finds it again."""
    meta = pod["metadata"]
    own = {
        marks.NESTED_NAME: meta["name"],
        marks.NESTED_NAMESPACE: meta["namespace"],
        marks.NESTED_UID: meta["uid"],
        marks.HOST_LABELS: write_json(labels_of(pod)),
    }
    return downward.build_annotations(pod) | own


def read_labels(there: Object) -> dict[str, str]:
    return {str(key): str(value) for key, value in _read_json(there, marks.HOST_LABELS).items()}


def read_changeable(spec: Object) -> Object:
    """What of a host pod's spec can change while it runs; containers by their names."""
    found: Object = {key: spec[key] for key in WHOLE if key in spec}
    for group in GROUPS:
        found[group] = {item["name"]: {key: item[key] for key in EACH if key in item} for item in spec.get(group) or []}
    return found


def read_carried(there: Object) -> Object:
    """The same as it was carried last; empty if the pod there does not say."""
    found = _read_json(there, marks.HOST_SPEC)
    for group in GROUPS:
        items = found.get(group)
        if found and not (isinstance(items, dict) and all(isinstance(item, dict) for item in items.values())):
            return {}  # somebody there has changed it
    return found


def write_json(value: Object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _read_json(there: Object, key: str) -> Object:
    try:
        found = json.loads(annotations_of(there).get(key) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_gated(there: Object) -> bool:
    """Whether the pod there still waits for its copies: it has not run, and nobody should count on it."""
    return any(item.get("name") == marks.INPUTS_GATE for item in there["spec"].get("schedulingGates") or [])


def build_containers(pod: Object, group: str, *, has_links: bool) -> list[Object]:
    rename = partial(names.remote_input, uid=pod["metadata"]["uid"])
    # As on a kubelet, anything else that sets a variable counts more.
    links = [{"configMapRef": {"name": links_name(pod)}}] if has_links else []
    result = []
    for item in pod["spec"].get(group) or []:
        sources = [*links, *env.build_sources(item, rename)]
        carried = containers.carry(item) | {"env": env.build_variables(item, rename)}
        result.append(carried | ({"envFrom": sources} if sources else {}))
    return result


def links_name(pod: Object) -> str:
    """The ConfigMap with the pod's service links and the like."""
    meta = pod["metadata"]
    return f"{names.remote_pod(meta['name'], meta['uid'])}-env"


def _build_spec(pod: Object, settings: Settings, machines: Machines, *, has_links: bool) -> Object:
    own, uid = pod["spec"], pod["metadata"]["uid"]
    rename = partial(names.remote_input, uid=uid)
    result: Object = {key: own[key] for key in CARRIED if key in own}
    result |= {
        "containers": build_containers(pod, "containers", has_links=has_links),
        "volumes": volumes.build_volumes(pod, POLICY, rename),
        "hostname": find_hostname(pod),
        # The pod is of the host cluster: it gets no identity of this one, and knows none of its Services.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if first := build_containers(pod, "initContainers", has_links=has_links):
        result["initContainers"] = first
    if secrets := [item["name"] for item in own.get("imagePullSecrets") or [] if item.get("name")]:
        result["imagePullSecrets"] = [{"name": rename(name)} for name in secrets]
    if (own.get("os") or {}).get("name") != "windows":
        result["securityContext"] = SECCOMP | (own.get("securityContext") or {})
    return result | _build_dns(pod) | _build_scheduling(pod, settings, machines)


def _build_dns(pod: Object) -> Object:
    """The DNS of the cluster there. That of a nested cluster cannot be reached from it; what a user has written stays."""
    spec, own = pod["spec"], pod["spec"].get("dnsConfig") or {}
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    if policy == "None" and {marks.CLUSTER, marks.NESTED_UID} <= labels_of(pod).keys():
        policy, own = "ClusterFirst", {}
    if policy == "ClusterFirstWithHostNet":
        policy = "ClusterFirst"
    return {"dnsPolicy": policy} | ({"dnsConfig": own} if own else {})


def _build_scheduling(pod: Object, settings: Settings, machines: Machines) -> Object:
    result: Object = {}
    if settings.node_selector:
        result["nodeSelector"] = dict(settings.node_selector)
    if expressions := machines.list_requirements():
        terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        result["affinity"] = {"nodeAffinity": {REQUIRED: terms}}
    if tolerations := list(_build_tolerations(pod)):
        result["tolerations"] = tolerations
    return result


def _build_tolerations(pod: Object) -> Iterator[Object]:
    """How long to stay on a node that is lost, and the taints of nodes with the extended resources that the pod takes.

    Schedulers ignore an amount of 0: it would open nodes that are reserved by a taint of any name.
    """
    for item in pod["spec"].get("tolerations") or []:
        if item.get("key") in ALWAYS_ALLOWED:
            yield item
    for name in sorted(pick_extended(list_extended_resources(pod))):
        yield {"key": name, "operator": "Exists", "effect": "NoSchedule"}


def pick_extended(resources: Iterable[str]) -> frozenset[str]:
    """Those of the resources that are extended ones, such as `nvidia.com/gpu`."""
    return frozenset(name for name in resources if "/" in name and not name.partition("/")[0].endswith(_RESERVED))


def build_copies(pod: Object, inputs: Inputs, settings: Settings, *, is_complete: bool = True) -> list[Object]:
    """Everything that the pod refers to, not yet owned by anyone.

    `is_complete`: raise `NotYet` if something is missing; otherwise, leave it out.
    """
    found = list(_build_all(pod, inputs, is_complete=is_complete))
    marks = build_marks(pod, settings)
    for copy in found:
        copy["metadata"] |= {"namespace": settings.namespace, "labels": marks}
    return found


def has_links(inputs: Inputs) -> bool:
    """Whether the pod has variables that come from nowhere else."""
    return any(_VARIABLE.fullmatch(key) for key in inputs.environment)


def own_copy(copy: Object, there: Object) -> Object:
    """The copy, to be removed with the pod there."""
    meta = there["metadata"]
    return copy | {"metadata": copy["metadata"] | {"ownerReferences": [owner_reference("v1", "Pod", meta["name"], meta["uid"])]}}


def _build_all(pod: Object, inputs: Inputs, *, is_complete: bool) -> Iterator[Object]:
    uid, required = pod["metadata"]["uid"], find_required(pod)
    for item in sorted(find_references(pod)):
        kind = _COPIED[item.resource]
        original = (inputs.secrets if kind == "Secret" else inputs.config_maps).get(item.name)
        if original is not None:
            yield _build_copy(kind, names.remote_input(item.name, uid)) | config.carry(original, kind)
        elif item in required and is_complete:
            raise NotYet(f"{kind} '{item.name}' does not exist")
    if has_links(inputs):
        variables = {key: value for key, value in inputs.environment.items() if _VARIABLE.fullmatch(key)}
        yield _build_copy("ConfigMap", links_name(pod)) | {"data": variables}
    tokens = volumes.find_tokens(pod)
    missing = [token for token in tokens if (token.volume, token.path) not in inputs.tokens]
    if missing and is_complete:
        raise NotYet(f"volume '{missing[0].volume}' has no service account token yet")
    if tokens and not missing:
        data = {token.key: inputs.tokens[token.volume, token.path] for token in tokens}
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        yield _build_copy("Secret", volumes.token_secret_name(pod)) | {"type": "Opaque", "data": encoded}


def _build_copy(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
