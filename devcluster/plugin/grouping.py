"""From hop 1 to hop 2: the files of a pod, sent as one list of each kind, grouped by the containers that mount them. Pure."""

from devcluster.plugin.refusals import volume_type
from devcluster.plugin.volumes import object_name
from nestor.api.objects import Object

KINDS = {
    "configMap": ("configmaps", "configMaps"),
    "secret": ("secrets", "secrets"),
    "projected": ("projectedvolumesmaps", "projectedvolumemaps"),
}
"""Type of a volume → where its objects are on hop 1, and where on hop 2."""


def group(asked: Object) -> list[Object]:
    """An entry for each container of the pod, init containers first."""
    spec = asked["pod"].get("spec") or {}
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or []}
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    return [_group_one(container, volumes, asked) for container in containers]


def _group_one(container: Object, volumes: dict[str, Object], asked: Object) -> Object:
    entry: Object = {"name": container["name"], "emptyDirs": [], **{hop2: [] for _, hop2 in KINDS.values()}}
    for name in dict.fromkeys(mount["name"] for mount in container.get("volumeMounts") or []):
        volume = volumes.get(name) or {"name": name}
        kind = volume_type(volume)
        if kind == "emptyDir":
            entry["emptyDirs"].append(name)
        elif kind in KINDS:
            hop1, hop2 = KINDS[kind]
            entry[hop2] += [item for item in asked.get(hop1) or [] if _name(item) == object_name(volume)]
    return entry


def _name(item: Object) -> str:
    return str((item.get("metadata") or {}).get("name") or "")
