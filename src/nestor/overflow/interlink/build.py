"""A pod, and what it needs, as messages of both hops. Pure."""

import datetime
from collections.abc import Iterator, Mapping

from nestor.api import times
from nestor.api.objects import Object, annotations_of, keep_few, labels_of, status_of
from nestor.overflow.interlink.env import build_env, expand
from nestor.overflow.interlink.files import Files, build_files, split_mounts, trim_object
from nestor.overflow.interlink.wishes import list_own
from nestor.pods.providers.base import JOB, Inputs, Options
from nestor.pods.providers.errors import InvalidInput
from nestor.pods.translate.container_status import RUN, is_sidecar, list_containers

_META = ("name", "namespace", "uid", "generateName", "creationTimestamp")
_NOTES_LIMIT, _IMAGES_LIMIT = 1024, 4096
"""Characters of all labels, of all annotations, and of all images in a question. Of each pod, it is asked every second or so."""
_LONGEST_GRACE_SECONDS = 10**9
_TRUE = ("true", "1")
_VOLUMES = frozenset({"configMap", "downwardAPI", "emptyDir", "projected", "secret"})
_SOURCES = frozenset({"configMap", "downwardAPI", "secret", "serviceAccountToken"})
_VALUES = frozenset({"configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef"})
_HOST = ("hostIPC", "hostNetwork", "hostPID")
"""What interLink carries; anything else is named before it is sent."""


def find_refusals(pod: Object) -> list[str]:
    """One message per field that interLink cannot carry; empty for most pods."""
    spec = pod["spec"]
    found = [
        f"`spec.{field}` may not be true: interLink backends share no namespaces with pods" for field in _HOST if spec.get(field)
    ]
    if spec.get("resourceClaims"):
        found.append("`spec.resourceClaims` may not be set: interLink cannot carry dynamic resource claims")
    for index, volume in enumerate(spec.get("volumes") or []):
        found += _check_volume(f"spec.volumes[{index}]", volume)
    for path, container in list_containers(spec):
        found += _check_container(path, container)
    for index, container in enumerate(spec.get("initContainers") or []):
        if is_sidecar(container):
            found.append(f"`spec.initContainers[{index}].restartPolicy` may not be 'Always': interLink backends wait for its end")
    return found


def _check_volume(path: str, volume: Object) -> Iterator[str]:
    kind = next((key for key in volume if key != "name"), "emptyDir")
    if kind not in _VOLUMES:
        allowed = ", ".join(sorted(_VOLUMES))
        yield f"`{path}.{kind}` (volume '{volume['name']}') may not be set: interLink carries only {allowed}"
        return
    for index, source in enumerate((volume.get("projected") or {}).get("sources") or []):
        for other in sorted(source.keys() - _SOURCES):
            yield (
                f"`{path}.projected.sources[{index}].{other}` (volume '{volume['name']}') may not be set: "
                f"interLink carries only {', '.join(sorted(_SOURCES))}"
            )


def _check_container(path: str, container: Object) -> Iterator[str]:
    if container.get("volumeDevices"):
        yield f"`{path}.volumeDevices` may not be set: interLink cannot carry block devices"
    if (container.get("resources") or {}).get("claims"):
        yield f"`{path}.resources.claims` may not be set: interLink cannot carry dynamic resource claims"
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if (mount.get("mountPropagation") or "None") != "None":
            yield f"`{path}.volumeMounts[{index}].mountPropagation` must be 'None' on interLink backends"
    for index, variable in enumerate(container.get("env") or []):
        for other in sorted((variable.get("valueFrom") or {}).keys() - _VALUES):
            yield f"`{path}.env[{index}].valueFrom.{other}` may not be set: must be one of {', '.join(sorted(_VALUES))}"


def build_create(pod: Object, inputs: Inputs, notes: Mapping[str, str] | None = None) -> Object:
    """What the API server gets. `notes`: annotations besides the pod's own.

    Raises `NotYet` if something is missing, `InvalidInput` if something cannot be resolved.
    """
    files = build_files(pod, inputs)
    spec = {key: value for key, value in pod["spec"].items() if key != "ephemeralContainers"}
    for group in RUN:
        if group in spec:
            spec[group] = [
                _build_container(pod, item, inputs, files, f"spec.{group}[{index}]")
                for index, item in enumerate(spec[group] or [])
            ]
    if "volumes" in spec:
        spec["volumes"] = list(files.volumes.values())
    if context := _lift_user(spec):
        spec["securityContext"] = context
    pulls = [item.get("name") for item in spec.get("imagePullSecrets") or []]
    secrets = files.secrets | {name: trim_object("Secret", inputs.secrets[name]) for name in pulls if name in inputs.secrets}
    return {
        "pod": _build_pod(pod, spec, notes),
        "configmaps": list(files.config_maps.values()),
        "secrets": list(secrets.values()),
        "projectedvolumesmaps": list(files.projected.values()),
    }


def build_plugin_create(request: Object) -> Object:
    """What a plugin gets, where there is no API server: the same, grouped by container."""
    spec = request["pod"]["spec"]
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or []}
    containers = []
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        mounted = [volumes[name] for name in dict.fromkeys(item["name"] for item in container.get("volumeMounts") or [])]
        maps = {item["configMap"]["name"] for item in mounted if "configMap" in item}
        secrets = {item["secret"]["secretName"] for item in mounted if "secret" in item}
        names = {item["name"] for item in mounted}
        containers.append(
            {
                "name": container["name"],
                "configMaps": [item for item in request["configmaps"] if item["metadata"]["name"] in maps],
                "secrets": [item for item in request["secrets"] if item["metadata"]["name"] in secrets],
                "projectedvolumemaps": [item for item in request["projectedvolumesmaps"] if item["metadata"]["name"] in names],
                "emptyDirs": [item["name"] for item in mounted if "emptyDir" in item or len(item) == 1],
            }
        )
    return {"pod": request["pod"], "container": containers}


def build_question(pod: Object) -> Object:
    """The pod as one of many in a question for statuses: small, because it is asked every few seconds.

    Its phase is one of a pod that runs: interLink's API server answers for others from memory, and asks nobody.
    """
    groups = {group: pod["spec"].get(group) or [] for group in RUN}
    is_long = sum(len(item.get("image") or "") for items in groups.values() for item in items) > _IMAGES_LIMIT
    names = ("name", "restartPolicy") if is_long else ("name", "image", "restartPolicy")
    spec: Object = {
        # Plugins of interLink's SDK refuse containers without an image.
        group: [{"image": "unknown"} | {key: item[key] for key in names if key in item} for item in items]
        for group, items in groups.items()
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


def read_log_limit(options: Options) -> int | None:
    """How many bytes are wanted. None: all. Not asked for: interLink refuses it together with lines, and takes the last ones."""
    given = {name: value for name, value in options if value}
    lines = _number(given, "tailLines")
    return 0 if lines == 0 and given.get("follow") not in _TRUE else _number(given, "limitBytes")


def build_log_request(pod: Object, options: Options, now: datetime.datetime) -> Object:
    """Raises `InvalidInput` for a container that the pod does not have, and for what interLink cannot ask for."""
    given = {name: value for name, value in options if value}
    meta, spec = pod["metadata"], pod["spec"]
    names = [item["name"] for item in [*spec["containers"], *(spec.get("initContainers") or [])]]
    container = given.get("container") or names[0]
    if container not in names:
        raise InvalidInput(f"container '{container}' is not one of this pod's: {', '.join(names)}")
    if given.get("stream", "All") != "All":
        raise InvalidInput("`stream` must be 'All': interLink does not tell standard output and errors apart")
    tail = _number(given, "tailLines")
    # 0 means no limit to interLink. What comes from now on is what a caller wants who wants no lines of the past.
    since = times.write(now) if tail == 0 else given.get("sinceTime")
    wanted = {
        "Tail": tail or 0,
        "Bytes": 0,
        "Timestamps": given.get("timestamps") in _TRUE,
        "Follow": given.get("follow") in _TRUE,
        "Previous": given.get("previous") in _TRUE,
        "SinceSeconds": 0 if since else _number(given, "sinceSeconds") or 0,
    } | ({"SinceTime": since} if since else {})
    named = {"Namespace": meta["namespace"], "PodUID": meta["uid"], "PodName": meta["name"], "ContainerName": container}
    return named | {"Opts": wanted}


def _number(given: dict[str, str], name: str) -> int | None:
    if name not in given:
        return None
    if not given[name].isdecimal() or len(given[name]) > 18:
        raise InvalidInput(f"`{name}` must be a number")
    return int(given[name])


def _build_pod(pod: Object, spec: Object, notes: Mapping[str, str] | None = None) -> Object:
    meta = {key: pod["metadata"][key] for key in _META if key in pod["metadata"]}
    meta |= {"labels": labels_of(pod), "annotations": {**list_own(pod), **(notes or {})}}
    phase = status_of(pod).get("phase")
    status = {"phase": phase if phase == "Running" else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _build_container(pod: Object, container: Object, inputs: Inputs, files: Files, where: str) -> Object:
    variables = build_env(pod, container, inputs, where)
    result = {key: value for key, value in container.items() if key != "envFrom"}
    result["env"] = [{"name": name, "value": value} for name, value in variables.items()]
    for key in ("command", "args"):
        if container.get(key):
            result[key] = [expand(str(item), variables) for item in container[key]]
    if container.get("volumeMounts"):
        mounts = [_build_mount(item, variables) for item in container["volumeMounts"]]
        result["volumeMounts"] = split_mounts(files, pod, mounts, inputs)
    # Backends look at limits alone; Slurm's gives 1 MB without any.
    resources = container.get("resources") or {}
    if requests := resources.get("requests"):
        result["resources"] = resources | {"limits": requests | (resources.get("limits") or {})}
    return result


def _lift_user(spec: Object) -> Object:
    """The pod's security context, with the user and group of its containers if they are of one mind: plugins look there only."""
    found = spec.get("securityContext") or {}
    for key in ("runAsUser", "runAsGroup"):
        said = {(item.get("securityContext") or {}).get(key, found.get(key)) for group in RUN for item in spec.get(group) or []}
        if len(said) == 1 and None not in said:
            found = found | {key: said.pop()}
    return found


def _build_mount(mount: Object, variables: dict[str, str]) -> Object:
    if not mount.get("subPathExpr"):
        return mount
    rest = {key: value for key, value in mount.items() if key != "subPathExpr"}
    return rest | {"subPath": expand(mount["subPathExpr"], variables)}
