"""The components' configuration files as data: pure functions from the layout to file contents."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from devcluster.cluster import settings
from devcluster.cluster.paths import Paths

CHECKOUT = Path(__file__).resolve().parents[2]


def files(paths: Paths) -> dict[str, str]:
    """Every configuration file by its name below `etc/`."""
    return {
        "registry.yaml": yaml.safe_dump(registry(paths), sort_keys=False),
        "volumes.json": json.dumps(volumes(paths), indent=1),
        "volumes-pod.yaml": yaml.safe_dump(volumes_pod(), sort_keys=False),
    }


def write(folder: Path, content_by_name: Mapping[str, str]) -> None:
    """Write configuration files."""
    for name, content in content_by_name.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def registry(paths: Paths) -> dict[str, Any]:
    """The image registry (CNCF distribution) on the cluster's side of the link."""
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(paths.registry)},
            "delete": {"enabled": True},
            "maintenance": {"uploadpurging": {"enabled": False}},
        },
        "http": {"addr": settings.REGISTRY, "secret": "one process, no secret to share"},
    }


def volumes(paths: Paths) -> dict[str, Any]:
    """The provisioner of volumes. The shared ones are in the cache, which both nodes see; all go away with the cluster."""
    local = {"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [settings.VOLUMES_FOLDER]}
    return {
        "storageClassConfigs": {
            settings.LOCAL_CLASS: {"nodePathMap": [local]},
            settings.SHARED_CLASS: {"sharedFileSystemPath": str(paths.volumes)},
        }
    }


def volumes_pod() -> dict[str, Any]:
    """The pod that makes a volume's folder, or removes it; the provisioner fills in the rest.

    It has it tolerate everything, and names no node for a volume of all nodes: it must not go to a virtual one.
    """
    real = [{"matchExpressions": [{"key": "nestor.dev/backend", "operator": "DoesNotExist"}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": real}}}
    container = {"name": "helper", "image": settings.VOLUMES_IMAGE, "imagePullPolicy": "IfNotPresent"}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "volume"}, "spec": spec | {"affinity": affinity}}


def environment(paths: Paths) -> dict[str, str]:
    """What every component gets: our binaries first, a home in the cache, no exporter calling out."""
    ports = settings.ports()
    return {
        "PATH": f"{paths.bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(paths.cluster),
        "XDG_DATA_HOME": str(paths.cluster / "data"),
        "XDG_CONFIG_HOME": str(paths.cluster / "config"),
        "OTEL_TRACES_EXPORTER": "none",
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        # Memory for processor time, of which there is less: a fifth of the API server's went to collecting garbage.
        "GOGC": "300",
        "NESTOR_CACHE": str(paths.cache),
        "NESTOR_HTTP_PORT": str(ports.http),
        "NESTOR_HTTPS_PORT": str(ports.https),
        "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'src'}",
    }
