"""What the caches keep of each object: the fields that somebody reads. Users write most of these objects, and memory is shared.

Each function returns a new object and changes nothing of its argument. What is trimmed already is returned as it is. Pure.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable

from nestor.api import labels
from nestor.contracts.runner import RECORD_LIMIT
from nestor.exposure.host_claims import CLASS_ANNOTATION, HOSTS
from nestor.kube import Kind, kinds
from nestor.objects import Object, annotations_of, labels_of, spec_of, status_of

Trim = Callable[[Object], Object]

SPEC_LIMIT = 256 * 1024
"""Bytes of a job's spec as JSON, without the icon. Python objects may need thirty times that, so what is larger is not kept."""
OBJECT_LIMIT = 64 * 1024
"""Bytes of any other object as JSON; ours have a few thousand."""
CLUSTER_LIMIT = OBJECT_LIMIT + 4 * RECORD_LIMIT
"""Bytes of a NestedCluster as JSON: with the longest record that a syncer takes, in characters of up to 4 bytes."""
TEXT_LIMIT = 4096
"""Characters of a message: what kubelet keeps of a container's last words."""
FEW_HOSTS = 100

PACKED = "packed"
"""Key of a trimmed job: the free-form parts of its spec, compressed."""
OVERSIZED = "oversized"
"""Key of a trimmed job: the size of its spec in bytes, if it is too large to be kept."""

_CORE = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
)
_POD_CONDITIONS = ("Ready", "PodScheduled")


def trim_job(job: Object) -> Object:
    """A NestedAppJob whose AppDef and parameters are compressed text, to be read by `read_spec`; a large one has lost them."""
    if PACKED in job or OVERSIZED in job:
        return job
    spec, packed = spec_of(job), {}
    if isinstance(spec.get("app"), dict):
        spec = {**spec, "app": _drop_icon(spec["app"])}
    size = len(_write(spec))
    app, parameters = spec.get("app"), spec.get("parameters")
    if isinstance(app, dict) and app.get("appDef") is not None:
        packed["appDef"] = zlib.compress(_write(app["appDef"]), 1)
        app = {key: value for key, value in app.items() if key != "appDef"}
    if parameters is not None:
        packed["parameters"] = zlib.compress(_write(parameters), 1)
    rest = {key: value for key, value in spec.items() if key != "parameters"} | ({"app": app} if "app" in spec else {})
    kept = {**job, "metadata": _trim_metadata(job), "spec": rest}
    return kept | ({OVERSIZED: size} if size > SPEC_LIMIT else {PACKED: packed})


def read_spec(job: Object) -> Object:
    """The whole spec of a job that may have been trimmed. Not for one that is `OVERSIZED`."""
    found = {key: json.loads(zlib.decompress(content)) for key, content in (job.get(PACKED) or {}).items()}
    spec = dict(spec_of(job))
    if "parameters" in found:
        spec["parameters"] = found["parameters"]
    if "appDef" in found:
        spec["app"] = {**spec["app"], "appDef": found["appDef"]}
    return spec


def trim_pod(pod: Object) -> Object:
    """Of the application's pods, only their phase matters; of our own, also what they wait for and how they ended."""
    spec, status, own = spec_of(pod), status_of(pod), labels_of(pod)
    kept: Object = {key: status[key] for key in ("phase", "reason") if key in status}
    if own.get(labels.COMPONENT) != labels.COMPONENT_APP:
        kept |= {"message": _cut(status["message"])} if "message" in status else {}
        kept["conditions"] = [_trim_words(item) for item in status.get("conditions") or () if item["type"] in _POD_CONDITIONS]
        for key in ("initContainerStatuses", "containerStatuses"):
            if key in status:
                kept[key] = [_trim_container(item) for item in status[key] or ()]
    volumes = [item for item in spec.get("volumes") or () if "image" in item]
    kept_spec = {key: spec[key] for key in ("terminationGracePeriodSeconds",) if key in spec} | {"volumes": volumes}
    return {**_head(pod), "metadata": _trim_metadata(pod, all_labels=False), "spec": kept_spec, "status": kept}


def trim_ingress(ingress: Object) -> Object:
    """Ours whole, because they are compared with what they should be; of all others, their hosts and class."""
    if labels_of(ingress).get(labels.COMPONENT) == labels.COMPONENT_EXPOSURE and _has_at_most(OBJECT_LIMIT, ingress):
        return {**ingress, "metadata": {key: value for key, value in ingress["metadata"].items() if key != "managedFields"}}
    spec = spec_of(ingress)
    hosts = dict.fromkeys(rule["host"] for rule in spec.get("rules") or () if rule.get("host"))
    kept: Object = {key: spec[key] for key in ("ingressClassName", HOSTS) if spec.get(key)}
    if len(hosts) > FEW_HOSTS:
        kept[HOSTS] = "\n" + "\n".join(hosts) + "\n"
    elif hosts:
        kept["rules"] = [{"host": host} for host in hosts]
    metadata = _trim_metadata(ingress, all_labels=False)
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
    metadata = _trim_metadata(item, all_labels=False, also=("kubernetes.io/service-name",))
    return {**_head(item), "metadata": metadata, "ports": ports, "endpoints": ready[:1]}


def trim_cluster(cluster: Object) -> Object:
    """A NestedCluster, with the record of its run."""
    return _trim_whole(cluster, CLUSTER_LIMIT)


def trim_app(app: Object) -> Object:
    """A NestedApp without its icon. Admins write them, so the rest may have any size."""
    return {**app, "metadata": _trim_metadata(app), "spec": _drop_icon(spec_of(app))}


def trim_object(obj: Object) -> Object:
    """Any other object: without others' annotations; only its head if it is too large to be ours."""
    return _trim_whole(obj, OBJECT_LIMIT)


TRIMS: dict[Kind, Trim] = {kinds.POD: trim_pod, kinds.INGRESS: trim_ingress, kinds.ENDPOINT_SLICE: trim_slice}
"""Watched kinds with a trim of their own; for all others it is `trim_object`."""


def _trim_metadata(obj: Object, *, all_labels: bool = True, also: Iterable[str] = ()) -> Object:
    """Only our own annotations, and, unless `all_labels`, only our own labels and those in `also`."""
    meta = obj["metadata"]
    kept = {key: meta[key] for key in _CORE if key in meta}
    for key, whole in (("labels", all_labels), ("annotations", False)):
        if found := meta.get(key):
            kept[key] = dict(found) if whole else {name: value for name, value in found.items() if _is_ours(name) or name in also}
    return kept


def _is_ours(key: str) -> bool:
    return key == labels.MANAGED_BY or key.startswith(f"{labels.GROUP}/")


def _trim_whole(obj: Object, limit: int) -> Object:
    kept = {**obj, "metadata": _trim_metadata(obj)}
    return kept if _has_at_most(limit, kept) else {**_head(obj), "metadata": _trim_metadata(obj, all_labels=False)}


def _drop_icon(app: Object) -> Object:
    """What holds an `appDef`, without its icon: often its largest part, and nothing displays it."""
    app_def = app.get("appDef")
    if not isinstance(app_def, dict):
        return app
    icon = app_def.get("image")
    if not isinstance(icon, dict) or not isinstance(icon.get("data"), str):
        return app
    return {**app, "appDef": {**app_def, "image": {**icon, "data": ""}}}


def _head(obj: Object) -> Object:
    return {key: obj[key] for key in ("apiVersion", "kind") if key in obj}


def _has_at_most(limit: int, obj: Object) -> bool:
    return len(_write(obj)) <= limit


def _write(value: object) -> bytes:
    """Compact JSON. Users' text may contain half characters, which no encoding has."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


def _cut(text: str) -> str:
    return text[:TEXT_LIMIT]


def _trim_words(item: Object) -> Object:
    """A condition or a state of a container."""
    return {key: _cut(value) if isinstance(value, str) else value for key, value in item.items()}


def _trim_container(item: Object) -> Object:
    state = {key: _trim_words(value or {}) for key, value in (item.get("state") or {}).items()}
    return {"name": item["name"], "image": item.get("image", ""), "state": state}
