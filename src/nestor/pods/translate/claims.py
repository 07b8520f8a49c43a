"""The PersistentVolumeClaims of pods: those that they name, and those that are made for them (generic ephemeral volumes)."""

from __future__ import annotations

from nestor.api.objects import Object

NO_VOLUMES = "the class allows no persistent volumes (`storage.classes`)"
NO_SNAPSHOTS = "the class allows no snapshots (`storage.snapshotClasses`)"
NO_BLOCK_VOLUMES = "the class allows no block volumes (`storage.blockVolumes`)"


def find_claims(pod: Object) -> list[str]:
    """The names of the claims that the pod uses; they are in its namespace."""
    found = (find_claim(pod, volume) for volume in pod["spec"].get("volumes") or [])
    return [name for name in found if name]


def find_claim(pod: Object, volume: Object) -> str | None:
    """The name of the claim that a volume is. None for volumes of other types."""
    if source := volume.get("persistentVolumeClaim"):
        return str(source["claimName"])
    return f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") else None
