"""What `make demo-overflow` sets up: small nodes, two backends that take what these cannot, and a job that is too large. Pure."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from nestor.api.quantities import parse_quantity

Object = dict[str, Any]

NAMESPACE, SYSTEM = "default", "nestor-system"
CLUSTER, PLUGIN = "second-cluster", "hpc-site"
"""The backends, and thus their nodes; the first is also the job that the second cluster is made of."""
CLASS, CLUSTER_CLASS = "demo-overflow", "demo-second-cluster"
REMOTE_NAMESPACE = "nestor"
"""Of the second cluster: where its pods are."""
PARTS, SECONDS = 7, 30
PART = Decimal("0.3")
"""How much of a node's CPUs each part requests: three fit on a node."""
AT_CLUSTER, AT_PLUGIN = 2, 3
"""How many parts each backend says that it has room for."""
_VERSION = "nestor.dev/v1alpha1"


@dataclass(frozen=True)
class Nodes:
    """The cluster's own nodes, as the demo divides them."""

    cluster: str
    """Where the second cluster's pods run: it has no machines of its own."""
    pool: str
    """The small pool of the job."""
    cpu: int
    """What each part requests, in thousandths of a CPU."""


def divide(nodes: Sequence[Object]) -> Nodes:
    """The first two nodes. Raises `ValueError` if there are fewer."""
    if len(nodes) < 2:
        raise ValueError("the demo needs two nodes; the cluster was started with NODES=1")
    first, second = nodes[:2]
    cpus = parse_quantity(str(second["status"]["allocatable"]["cpu"]))
    return Nodes(first["metadata"]["name"], second["metadata"]["name"], int(cpus * PART * 1000))


def build_classes(default: Object, nodes: Nodes) -> list[Object]:
    """The class of the job, and that of the second cluster; otherwise they are the class `default`."""
    overflow = {
        "mode": "WhenFull",
        "completionsTrigger": 0,
        "localParallelism": 0,
        "backends": [{"name": CLUSTER, "weight": 80}, {"name": PLUGIN, "weight": 20}],
    }
    pool = {"nodeSelector": {"kubernetes.io/hostname": nodes.pool}, "overflow": overflow}
    other = {"nodeSelector": {"kubernetes.io/hostname": nodes.cluster}}
    return [
        _build("NestedClass", name, default["spec"] | {"placement": placement})
        for name, placement in ((CLASS, pool), (CLUSTER_CLASS, other))
    ]


def build_second_job() -> list[Object]:
    """The job whose nested cluster is the second one: an application that is nothing but the namespace for pods."""
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {REMOTE_NAMESPACE}}}\n"
    meta = {"name": f"{CLUSTER}-templates", "namespace": NAMESPACE}
    templates = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"namespace.yml": namespace}}
    steps = [{"name": "namespace", "type": "kubectl", "path": "namespace.yml"}]
    command = {"path": "/usr/bin/true", "name": "Run", "parameters": {}, "nested_kubernetes": {"templates": steps}}
    app_def = {"name": "Second cluster", "appdefversion": 2, "appkind": "kns", "commands": {"Run": command}}
    app = {"templatesFrom": {"configMapRef": {"name": meta["name"]}}, "appDef": app_def}
    return [templates, _build("NestedAppJob", CLUSTER, {"className": CLUSTER_CLASS, "app": app}, NAMESPACE)]


def build_backends(plugin_url: str, kubeconfig: str, nodes: Nodes) -> list[Object]:
    """The two OverflowBackends, and the Secret with the second cluster's kubeconfig (in base64)."""
    meta = {"name": CLUSTER, "namespace": SYSTEM}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"kubeconfig": kubeconfig}}
    cluster = {
        "type": "Kubernetes",
        "kubernetes": {"kubeconfigRef": {"name": CLUSTER, "key": "kubeconfig"}, "namespace": REMOTE_NAMESPACE},
        "shapes": [_build_shape(AT_CLUSTER, nodes)],
        "drainSeconds": 5,
    }
    plugin = {
        "type": "Interlink",
        "interlink": {"url": plugin_url, "statusPeriodSeconds": 1},
        "shapes": [_build_shape(AT_PLUGIN, nodes)],
        "drainSeconds": 5,
    }
    return [secret, _build("OverflowBackend", CLUSTER, cluster), _build("OverflowBackend", PLUGIN, plugin)]


def _build_shape(parts: int, nodes: Nodes) -> Object:
    return {"name": "default", "capacity": {"cpu": f"{parts * nodes.cpu}m", "memory": "2Gi"}}


def build_job(example: Iterable[Object], nodes: Nodes) -> list[Object]:
    """The example's documents, with so many parts of such a size that no place has room for all."""
    documents = copy.deepcopy(list(example))
    parameters = {"PARTS": PARTS, "CPU": f"{nodes.cpu}m", "SECONDS": SECONDS}
    documents[-1]["spec"] |= {"className": CLASS, "parameters": parameters}
    return documents


def _build(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _VERSION, "kind": kind, "metadata": meta, "spec": spec}
