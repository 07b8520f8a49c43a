"""What every controller of the syncer needs."""

import asyncio
import dataclasses
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from nestor.api import labels, names
from nestor.api.names import Part
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import Api, ApiError, kinds
from nestor.kube.events import EventRecorder
from nestor.kube.tasks import together
from nestor.pods.translate.target import Target
from nestor.syncer.settings import Settings
from nestor.syncer.view.caches import Caches

T = TypeVar("T")

log = logging.getLogger(__name__)

PATIENCE_SECONDS, _SAY_SECONDS = 0.1, 10.0
_HOSTNAME_OVERRIDE = 35
"""Minor version of Kubernetes since which kubelets take `hostnameOverride`."""

RETRY_LIMIT = 15
"""Maximum seconds between attempts: after an outage of either API server, work resumes within this time."""

_JOB_LABELS = (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID)


@dataclass(frozen=True)
class Context:
    """Both clusters, their caches, and how host objects are labeled."""

    host: Api
    nested: Api
    home: Target
    """The target as it was at the start: its class may allow something else since, and a job have got a cluster of a pool."""
    caches: Caches
    recorder: EventRecorder
    """Posts events in the nested cluster, for the tenant."""

    @property
    def target(self) -> Target:
        """Where host objects go, and how they are labeled under the current policy."""
        own, allowed = _find_job_labels(self.caches.cluster) or self.home.labels, self.caches.policy.allowed_labels
        return dataclasses.replace(self.home, labels=own, allowed_labels=tuple(allowed or ()))


async def find_target(host: Api, settings: Settings) -> tuple[Target, Object]:
    """The target of all synced objects, and the NestedCluster itself."""
    cluster, version, api_ip, dns_ip = await together(
        patiently(lambda: host.get(kinds.NESTED_CLUSTER, settings.cluster, settings.namespace)),
        patiently(lambda: host.request("GET", "/version")),
        patiently(lambda: _cluster_ip(host, settings, Part.SERVER)),
        patiently(lambda: _cluster_ip(host, settings, Part.DNS)),
    )
    meta = cluster["metadata"]
    target = Target(
        namespace=settings.namespace,
        cluster=settings.cluster,
        labels=_find_job_labels(cluster),
        # A controller reference keeps the host's own controllers from adopting a pod whose labels match.
        owner={
            "apiVersion": kinds.NESTED_CLUSTER.api_version,
            "kind": kinds.NESTED_CLUSTER.name,
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        },
        api_ip=api_ip,
        dns_ip=dns_ip,
        quota_class=spec_of(cluster).get("className", ""),
        has_hostname_override=read_minor(version) >= _HOSTNAME_OVERRIDE,
        kubelet_port=settings.kubelet_port,
    )
    return target, cluster


def _find_job_labels(cluster: Object | None) -> dict[str, str]:
    return {key: value for key, value in labels_of(cluster).items() if key in _JOB_LABELS}


def read_minor(version: Object) -> int:
    """The minor version of an API server, from what it says of itself; 0 if that cannot be read."""
    found = re.match(r"v1\.(\d+)", str(version.get("gitVersion")))
    return int(found[1]) if found else 0


async def patiently(ask: Callable[[], Awaitable[T]], server: str = "host") -> T:
    """Ask until there is an answer, often, since users wait for it: the operator creates our role, our Services and this pod at
    the same time, and the nested API server starts with us.
    """
    begin, said = time.monotonic(), 0.0
    while True:
        try:
            return await ask()
        except ApiError as error:
            if time.monotonic() - begin > said + _SAY_SECONDS:
                said = time.monotonic() - begin
                log.info("still waiting for the %s API server after %.0f s: %s", server, said, error)
            await asyncio.sleep(PATIENCE_SECONDS)


async def _cluster_ip(host: Api, settings: Settings, part: Part) -> str:
    service = await host.get(kinds.SERVICE, names.child(settings.cluster, part), settings.namespace)
    return str(service["spec"]["clusterIP"])
