"""Kueue itself, in the version of `devcluster/go/kueue`: its own definitions, and its controller with its webhooks."""

from dataclasses import replace

import yaml

from devcluster.build import components
from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import Api, Kind, kinds
from tests.integration import controllers

VERSION, NAMESPACE = "v1beta1", "kueue-system"
WORKLOAD = replace(kinds.WORKLOAD, version=VERSION)
FLAVOR = replace(kinds.RESOURCE_FLAVOR, version=VERSION)
PRIORITY = replace(kinds.WORKLOAD_PRIORITY, version=VERSION)
CLUSTER_QUEUE = Kind(WORKLOAD.group, VERSION, "clusterqueues", "ClusterQueue", namespaced=False)
LOCAL_QUEUE = Kind(WORKLOAD.group, VERSION, "localqueues", "LocalQueue")
KUEUE = controllers.Controller(
    components.QUEUES,
    components.KUEUE,
    {
        "apiVersion": "config.kueue.x-k8s.io/v1beta1",
        "namespace": NAMESPACE,
        "integrations": {"externalFrameworks": ["NestedAppJob.v1alpha1.nestor.dev"]},
        "featureGates": {"VisibilityOnDemand": False},
    },
    certifies=True,
    told="managerConfig.controllerManagerConfigYaml",
)
"""Its visibility server, of which nothing is asked, is off."""


async def define(api: Api) -> None:
    """Have Kueue's kinds, without a controller."""
    for file in sorted((KUEUE.source / "config/components/crd/bases").glob("*.yaml")):
        await controllers.define(api, yaml.load(file.read_text(), yaml.CSafeLoader))


def say(kind: str, status: str, reason: str, message: str = "") -> Object:
    """A condition that Kueue sets."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": timestamp()}
