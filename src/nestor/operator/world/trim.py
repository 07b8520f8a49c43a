"""What the caches keep of each object: the fields that somebody reads. Users write most of these objects, and memory is shared.

The one place that says it, kind by kind: `TRIMS`. Of the metadata: what identifies the object, its finalizers, its owners, our
own labels and annotations. Of the rest: what each function says. Each returns a new object and changes nothing of its argument.
What is trimmed already stays as it is. None raises: what it cannot handle is kept as a stub (see `kept`). Pure.
"""

from collections.abc import Iterable

from nestor.api import labels, pod_status
from nestor.api.contracts.runner import MESSAGE_LIMIT
from nestor.api.contracts.vnode import REQUEST_LIMIT
from nestor.api.objects import Object, annotations_of, labels_of, spec_of, status_of, without_managers
from nestor.cluster.exposure.host_claims import CLASS_ANNOTATION, HOSTS
from nestor.kube import Kind, kinds
from nestor.kube.pages import Trim
from nestor.operator.world.kept import OVERSIZED, SPEC_LIMIT, UNREADABLE, Path, is_kept, pack, write

OBJECT_LIMIT = 64 * 1024
"""Bytes as JSON of an object, or of the part that is kept of it, where ours have a few thousand."""
LIST_LIMIT = 4096
"""Bytes as JSON of all finalizers, and of all owners."""
TEXT_LIMIT = 4096
"""Characters of a message: what kubelet keeps of a container's last words."""
_USAGES = 10
"""Of a certificate request: more than any that is approved has."""

CUT = "cut"
"""Key in the metadata of a trimmed object: it has more finalizers than are kept, so they must be read anew to be changed."""

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
_CORE = (*_IDENTITY, "deletionGracePeriodSeconds")
_OURS = frozenset(value for name, value in vars(labels).items() if name.isupper() and "/" in str(value))
"""The keys of our labels and annotations."""
_POD_CONDITIONS = ("Ready", "PodScheduled")
HELD = "held"
"""The key in the status of an application's pod for what holds it up."""
HELD_LIMIT = 300
_FREE: tuple[Path, ...] = (("app", "appDef"), ("appDef",), ("parameters",))
"""What is free-form in the specs of jobs and of the catalog's entries."""
_FEW = ("className", "machine", "suspend", "managedBy", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
"""Fields of a spec that also a stub has: what exists already keeps its class and machine, and can be suspended and end. And what
is another's to run stays that."""


def _never_raising(trim: Trim) -> Trim:
    """With what is trimmed already returned as it is, and a stub for what cannot be trimmed: one object must not stop us."""

    def guarded(obj: Object) -> Object:
        if is_kept(obj):
            return obj
        try:
            return trim(obj)
        except Exception as error:
            return _build_stub(obj, f"{type(error).__name__}: {error}"[:200])

    return guarded


def trim_job(job: Object) -> Object:
    """A NestedAppJob or NestedApp with AppDef (without icon) and parameters as compressed text; a large one has lost them."""
    spec = dict(spec_of(job))
    if isinstance(app := spec.get("app"), dict) and "appDef" in app:
        spec["app"] = app | {"appDef": drop_icon(app["appDef"])}
    if "appDef" in spec:
        spec["appDef"] = drop_icon(spec["appDef"])
    return _trim_own(job, spec, _FREE)


def trim_cluster(cluster: Object) -> Object:
    """A NestedCluster with its spec and status, but for the length of its steps' messages, which its tenant writes."""
    status = status_of(cluster)
    if run := status.get("run"):
        steps = [
            {**step, "message": step["message"][:MESSAGE_LIMIT]} if "message" in step else step for step in run.get("steps") or ()
        ]
        status = {**status, "run": {**run, "steps": steps}}
    return _trim_own({**cluster, "status": status}, spec_of(cluster), ())


def trim_class(item: Object) -> Object:
    """A NestedClass or an OverflowBackend: admins write it, and all that it says must be known."""
    return {**item, "metadata": _trim_metadata(item)}


def _trim_own(obj: Object, spec: Object, parts: Iterable[Path]) -> Object:
    """One of our own resources: the spec packed, or, if it is too large, the few fields that a stub has."""
    kept = {**_head(obj), "metadata": _trim_metadata(obj), **({"status": obj["status"]} if obj.get("status") else {})}
    size, packed = len(write(spec)), pack(spec, parts)
    if size <= SPEC_LIMIT:
        return kept | packed
    rest = packed["spec"]
    is_small = len(write(rest)) <= OBJECT_LIMIT
    return kept | {"spec": rest if is_small else {key: rest[key] for key in _FEW if key in rest}, OVERSIZED: size}


def drop_icon(app_def: Object | None) -> Object | None:
    """An AppDef without its icon, which may be larger than all the rest."""
    icon = app_def.get("image") if isinstance(app_def, dict) else None
    if app_def is None or not isinstance(icon, dict) or not isinstance(icon.get("data"), str):
        return app_def
    return {**app_def, "image": {**icon, "data": ""}}


def _build_stub(obj: Object, problem: str) -> Object:
    """What identifies the object and what was said about it, whatever the rest looks like."""
    meta, status = obj.get("metadata"), obj.get("status")
    meta = meta if isinstance(meta, dict) else {}
    kept: Object = {key: meta[key] for key in _IDENTITY if isinstance(meta.get(key), str | int)}
    if isinstance(held := meta.get("finalizers"), list) and labels.FINALIZER in held:
        kept |= {"finalizers": [labels.FINALIZER], CUT: True}
    if isinstance(own := meta.get("labels"), dict):
        kept["labels"] = {key: value for key, value in own.items() if key in _OURS and isinstance(value, str)}
    is_small = isinstance(status, dict) and _is_small(status)
    spec = obj.get("spec")
    few = {key: spec[key] for key in _FEW if isinstance(spec.get(key), str | int)} if isinstance(spec, dict) else {}
    return {**_head(obj), "metadata": kept, "spec": few, "status": status if is_small else {}, UNREADABLE: problem}


def trim_pod(pod: Object) -> Object:
    """Of the application's pods, only their phase and node matter, and what holds up those that do not start; of our own, also
    what they wait for and how they ended.
    """
    spec, status, own = spec_of(pod), status_of(pod), labels_of(pod)
    is_ours = own.get(labels.COMPONENT) != labels.COMPONENT_APP
    kept = _trim_words({key: status[key] for key in ("phase", "reason", *(("message",) if is_ours else ())) if key in status})
    if is_ours:
        kept["conditions"] = [_trim_words(item) for item in status.get("conditions") or () if item["type"] in _POD_CONDITIONS]
        for key in ("initContainerStatuses", "containerStatuses"):
            if key in status:
                kept[key] = [_trim_container(item) for item in status[key] or ()]
    elif held := pod_status.find_held(pod):
        kept[HELD] = held[:HELD_LIMIT]
    if own.get(labels.COMPONENT) == labels.COMPONENT_VNODE and "podIPs" in status:
        kept["podIPs"] = status["podIPs"]
    kept_spec: Object = {key: spec[key] for key in ("terminationGracePeriodSeconds", "nodeName") if key in spec}
    kept_spec["volumes"] = [item for item in spec.get("volumes") or () if "image" in item]
    if own.get(labels.COMPONENT) == labels.COMPONENT_SERVER:
        asked = [(item["name"], (item.get("resources") or {}).get("requests") or {}) for item in spec.get("containers") or ()]
        kept_spec["containers"] = [{"name": name, "resources": {"requests": requests}} for name, requests in asked]
    return {**_head(pod), "metadata": _trim_metadata(pod), "spec": kept_spec, "status": kept}


def trim_node(node: Object) -> Object:
    """A virtual node, with its labels, its taints and whether it is ready."""
    spec, ready = spec_of(node), [item for item in status_of(node).get("conditions") or () if item["type"] == "Ready"]
    return {
        **_head(node),
        "metadata": _trim_metadata(node, all_labels=True),
        "spec": {key: spec[key] for key in ("taints", "unschedulable") if key in spec},
        "status": {"conditions": [_trim_words(item) for item in ready]},
    }


def trim_request(request: Object) -> Object:
    """A CertificateSigningRequest: what an answer depends on, if it has none yet. Who may ask can ask often, and at length."""
    spec, status, meta = spec_of(request), status_of(request), _trim_metadata(request)
    own: Object = {key: spec[key] for key in ("signerName", "username", "expirationSeconds") if key in spec}
    kept: Object = {"metadata": meta, "spec": own}
    if status.get("conditions") or status.get("certificate"):
        return {**_head(request), **kept, "status": {"conditions": [{"type": "Answered"}]}}
    text = str(spec.get("request", ""))
    # One character more, so that it is told from one that is just not too large.
    own |= {"request": text[: REQUEST_LIMIT + 1], "usages": list(spec.get("usages") or ())[:_USAGES]}
    return {**_head(request), **kept}


def trim_ingress(ingress: Object) -> Object:
    """Ours whole, because they are compared with what they should be; of all others, their hosts and class."""
    if labels_of(ingress).get(labels.COMPONENT) == labels.COMPONENT_EXPOSURE and _is_small(ingress):
        return without_managers(ingress)
    spec = spec_of(ingress)
    hosts = dict.fromkeys(rule["host"] for rule in spec.get("rules") or () if rule.get("host"))
    kept: Object = {key: spec[key] for key in ("ingressClassName", HOSTS) if spec.get(key)}
    if hosts:
        kept[HOSTS] = "\n" + "\n".join(hosts) + "\n"
    metadata = _trim_metadata(ingress)
    if old_class := annotations_of(ingress).get(CLASS_ANNOTATION):
        metadata["annotations"] = {CLASS_ANNOTATION: old_class}
    return {**_head(ingress), "metadata": metadata, "spec": kept}


def trim_slice(item: Object) -> Object:
    """An EndpointSlice with its ports' names and one ready endpoint, if there is any."""
    ready = [
        {"addresses": endpoint["addresses"][:1], "conditions": {"ready": True}}
        for endpoint in item.get("endpoints") or ()
        if endpoint.get("addresses") and (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    ports = [{key: port[key] for key in ("name",) if key in port} for port in item.get("ports") or ()]
    metadata = _trim_metadata(item, also=("kubernetes.io/service-name",))
    return {**_head(item), "metadata": metadata, "ports": ports, "endpoints": ready[:1]}


@_never_raising
def trim_object(obj: Object) -> Object:
    """Any other object: without others' annotations; only its head if the rest is too large to be ours."""
    rest = {key: value for key, value in obj.items() if key != "metadata"}
    if _is_small(rest):
        return {**rest, "metadata": _trim_metadata(obj, all_labels=True)}
    return {**_head(obj), "metadata": _trim_metadata(obj), UNREADABLE: f"it has more than {OBJECT_LIMIT} bytes as JSON"}


OWN = (kinds.NESTED_APP_JOB, kinds.NESTED_CLUSTER, kinds.NESTED_CLASS, kinds.NESTED_APP, kinds.OVERFLOW_BACKEND)
"""Our own resources: users write all but the classes and the backends."""
_TRIMS: dict[Kind, Trim] = {
    **dict.fromkeys((kinds.NESTED_APP_JOB, kinds.NESTED_APP), trim_job),
    **dict.fromkeys((kinds.NESTED_CLASS, kinds.OVERFLOW_BACKEND), trim_class),
    kinds.NESTED_CLUSTER: trim_cluster,
    kinds.POD: trim_pod,
    kinds.INGRESS: trim_ingress,
    kinds.ENDPOINT_SLICE: trim_slice,
    kinds.NODE: trim_node,
    kinds.CERTIFICATE_REQUEST: trim_request,
    **dict.fromkeys((kinds.SERVICE, kinds.STATEFUL_SET, kinds.PERSISTENT_VOLUME_CLAIM), trim_object),
    **dict.fromkeys((kinds.NAMESPACE, kinds.DEPLOYMENT), trim_object),
}
TRIMS = {kind: _never_raising(trim) for kind, trim in _TRIMS.items()}
"""Every kind that a cache has."""


def _trim_metadata(obj: Object, *, all_labels: bool = False, also: Iterable[str] = ()) -> Object:
    """Of labels and annotations only ours and those in `also`; with `all_labels`, all labels, if there are not too many."""
    meta = obj["metadata"]
    kept = {key: meta[key] for key in _CORE if key in meta}
    own, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    chosen = {"labels": own if all_labels and _is_small(own) else _choose(own, also), "annotations": _choose(notes, also)}
    kept |= {key: found for key, found in chosen.items() if found}
    if found := meta.get("finalizers"):
        is_cut = bool(meta.get(CUT)) or len(write(found)) > LIST_LIMIT
        kept["finalizers"] = [item for item in found if item == labels.FINALIZER] if is_cut else found
        kept |= {CUT: True} if is_cut else {}
    if found := meta.get("ownerReferences"):
        is_few = len(write(found)) <= LIST_LIMIT
        kept["ownerReferences"] = found if is_few else [item for item in found if item.get("controller")]
    return kept


def _choose(found: dict[str, str], also: Iterable[str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if name in _OURS or name in also}


def _head(obj: Object) -> Object:
    return {key: obj[key] for key in ("apiVersion", "kind") if key in obj}


def _is_small(obj: Object) -> bool:
    return len(write(obj)) <= OBJECT_LIMIT


def _trim_words(item: Object) -> Object:
    return {key: value[:TEXT_LIMIT] if isinstance(value, str) else value for key, value in item.items()}


def _trim_container(item: Object) -> Object:
    state = {key: _trim_words(value or {}) for key, value in (item.get("state") or {}).items()}
    found = {"name": item["name"], "image": item.get("image", ""), "state": state, "ready": bool(item.get("ready"))}
    last = (item.get("lastState") or {}).get("terminated")
    return found | ({"lastState": {"terminated": _trim_words(last)}} if last else {})
