"""A pod, and what it needs, as messages of both hops. Pure."""

from __future__ import annotations

from nestor.api.objects import Object, annotations_of, keep_few, labels_of, status_of
from nestor.overflow.interlink.env import build_env, expand
from nestor.overflow.interlink.files import build_files, trim_object
from nestor.overflow.interlink.wire import ContainerData, CreateRequest, PluginCreateRequest
from nestor.pods.providers.base import Inputs

JOB = "JobID"
"""Annotation in which interLink keeps the backend's own name of a pod."""

_META = ("name", "namespace", "uid", "generateName", "creationTimestamp")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_GROUPS = ("initContainers", "containers")
_NOTES_LIMIT, _IMAGES_LIMIT = 1024, 4096
"""Characters of all labels, of all annotations, and of all images in a question. Of each pod, it is asked every second or so."""
_ASKED_PHASE = "Pending"
_LONGEST_GRACE_SECONDS = 10**9


def build_create(pod: Object, inputs: Inputs) -> CreateRequest:
    """What the API server gets. Raises `NotYet` if something is missing, `InvalidInput` if something cannot be resolved."""
    files = build_files(pod, inputs)
    spec = {key: value for key, value in pod["spec"].items() if key != "ephemeralContainers"}
    for group in _GROUPS:
        if group in spec:
            spec[group] = [
                _build_container(pod, item, inputs, f"spec.{group}[{index}]") for index, item in enumerate(spec[group] or [])
            ]
    if "volumes" in spec:
        spec["volumes"] = files.volumes
    pulls = [item.get("name") for item in spec.get("imagePullSecrets") or []]
    secrets = files.secrets | {name: trim_object("Secret", inputs.secrets[name]) for name in pulls if name in inputs.secrets}
    return CreateRequest(
        pod=_build_pod(pod, spec),
        config_maps=list(files.config_maps.values()),
        secrets=list(secrets.values()),
        projected=list(files.projected.values()),
    )


def build_plugin_create(request: CreateRequest) -> PluginCreateRequest:
    """What a plugin gets, where there is no API server: the same, grouped by container."""
    spec = request.pod["spec"]
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or []}
    containers = []
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        mounted = [volumes[name] for name in dict.fromkeys(item["name"] for item in container.get("volumeMounts") or [])]
        maps = {item["configMap"]["name"] for item in mounted if "configMap" in item}
        secrets = {item["secret"]["secretName"] for item in mounted if "secret" in item}
        names = {item["name"] for item in mounted}
        containers.append(
            ContainerData(
                name=container["name"],
                config_maps=[item for item in request.config_maps if item["metadata"]["name"] in maps],
                secrets=[item for item in request.secrets if item["metadata"]["name"] in secrets],
                projected=[item for item in request.projected if item["metadata"]["name"] in names],
                empty_dirs=[item["name"] for item in mounted if "emptyDir" in item or len(item) == 1],
            )
        )
    return PluginCreateRequest(pod=request.pod, containers=containers)


def build_question(pod: Object) -> Object:
    """The pod as one of many in a question for statuses: small, because it is asked every few seconds.

    Its phase is one of a pod that runs: interLink's API server answers for others from memory, and asks nobody.
    """
    groups = {group: pod["spec"].get(group) or [] for group in _GROUPS}
    is_long = sum(len(item.get("image") or "") for items in groups.values() for item in items) > _IMAGES_LIMIT
    names = ("name", "restartPolicy") if is_long else ("name", "image", "restartPolicy")
    spec: Object = {
        group: [{key: item[key] for key in names if key in item} for item in items] for group, items in groups.items()
    }
    spec |= {key: pod["spec"][key] for key in ("nodeName", "restartPolicy") if key in pod["spec"]}
    result = _build_pod(pod, spec)
    notes, marks = keep_few(annotations_of(result), _NOTES_LIMIT, first=JOB), keep_few(labels_of(result), _NOTES_LIMIT)
    return result | {"metadata": result["metadata"] | {"annotations": notes, "labels": marks}}


def build_delete(pod: Object, grace_seconds: int | None, time: str) -> Object:
    """The pod with its grace period, in the fields in which an API server keeps it."""
    own = pod["spec"].get("terminationGracePeriodSeconds", 30)
    marks = {
        "deletionTimestamp": pod["metadata"].get("deletionTimestamp") or time,
        "deletionGracePeriodSeconds": min(own if grace_seconds is None else grace_seconds, _LONGEST_GRACE_SECONDS),
    }
    spec = build_question(pod)["spec"] | {"terminationGracePeriodSeconds": own}
    result = _build_pod(pod, spec)
    return result | {"metadata": result["metadata"] | marks}


def _build_pod(pod: Object, spec: Object) -> Object:
    meta = {key: pod["metadata"][key] for key in _META if key in pod["metadata"]}
    annotations = {key: value for key, value in annotations_of(pod).items() if key != _APPLIED}
    meta |= {"labels": labels_of(pod), "annotations": annotations}
    phase = status_of(pod).get("phase")
    status = {"phase": phase if phase == "Running" else _ASKED_PHASE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _build_container(pod: Object, container: Object, inputs: Inputs, where: str) -> Object:
    variables = build_env(pod, container, inputs, where)
    result = {key: value for key, value in container.items() if key != "envFrom"}
    result["env"] = [{"name": name, "value": value} for name, value in variables.items()]
    for key in ("command", "args"):
        if container.get(key):
            result[key] = [expand(str(item), variables) for item in container[key]]
    if container.get("volumeMounts"):
        result["volumeMounts"] = [_build_mount(item, variables) for item in container["volumeMounts"]]
    return result


def _build_mount(mount: Object, variables: dict[str, str]) -> Object:
    if not mount.get("subPathExpr"):
        return mount
    rest = {key: value for key, value in mount.items() if key != "subPathExpr"}
    return rest | {"subPath": expand(mount["subPathExpr"], variables)}
