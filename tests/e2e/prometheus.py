"""A real Prometheus in the embedded cluster: where the operator's chart lets it in, and where it does not.

Its targets come from headless Services, by DNS: the operator's own, and one to which tests add the syncers of jobs.
"""

import asyncio
import contextlib
import functools
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from devcluster.build import cache
from devcluster.build import prometheus as builds
from devcluster.cluster import settings
from devcluster.demo.install import NAMESPACE as SYSTEM
from devcluster.demo.values import MONITORING_NAMESPACE
from devcluster.progress import Console
from nestor.api.contracts import syncer
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.attack_script import is_refusal
from tests.e2e.conftest import IS_EMBEDDED, ROOT, push_images
from tests.waiting import eventually, gone, has, wait_for

ALERTS = ROOT / "charts/nestor/monitoring/alerts.yaml"
NAME, PORT = "prometheus", 9090
SYNCERS = "syncers"
SCRAPE_SECONDS = 5


@dataclass
class Prometheus:
    """One, asked by way of the API server."""

    api: Api
    namespace: str

    async def ask(self, path: str, **query: str) -> Any:
        """What its HTTP API gives. Raises `ApiError` with its words where it refuses a query."""
        base = kinds.POD.path(self.namespace, f"{NAME}:{PORT}", "proxy")
        found = await self.api.request("GET", f"{base}/api/v1/{path}", query)
        assert found["status"] == "success", found
        return found["data"]

    async def query(self, expression: str) -> list[float]:
        """The values of an expression now, without those that are no numbers."""
        found = (await self.ask("query", query=expression))["result"]
        values = [float(item["value"][1]) for item in found]
        return [value for value in values if not math.isnan(value)]

    async def list_targets(self, job: str) -> list[Object]:
        """The targets of a scrape job that were scraped, or should have been."""
        found = (await self.ask("targets", state="active"))["activeTargets"]
        return [item for item in found if item["labels"]["job"] == job and item["health"] != "unknown"]

    async def until_scraped(self, job: str, health: str) -> Object:
        """Await the first target of a scrape job in this state: `up` or `down`, which is refused, and not only silent."""

        def is_meant(item: Object) -> bool:
            is_refused = is_refusal(item["lastError"]) or not IS_EMBEDDED
            return bool(item["health"] == health) and (health == "up" or is_refused)

        async def look() -> Object | None:
            return next(filter(is_meant, await self.list_targets(job)), None)

        return await eventually(look)

    async def add_syncer(self, address: str) -> None:
        """Have it scrape the syncer of the pod with this address."""
        meta = {"name": SYNCERS, "namespace": self.namespace, "labels": {"kubernetes.io/service-name": SYNCERS}}
        body = {"metadata": meta, "addressType": "IPv4", "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]}
        ports = [{"name": "metrics", "port": syncer.HEALTH_PORT, "protocol": "TCP"}]
        await self.api.apply(kinds.ENDPOINT_SLICE, body | {"ports": ports})


def _build_config(namespace: str) -> Object:
    def find(job: str, service: str, port: int) -> Object:
        # With the dot, so that the search list of the pod is left alone.
        names = [f"{service}.svc.{settings.CLUSTER_DOMAIN}."]
        found = {"names": names, "type": "A", "port": port, "refresh_interval": f"{SCRAPE_SECONDS}s"}
        return {"job_name": job, "dns_sd_configs": [found]}

    every = f"{SCRAPE_SECONDS}s"
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": ["/etc/prometheus/alerts.yaml"],
        "scrape_configs": [
            find("operator", f"nestor-metrics.{SYSTEM}", 8080),
            find("syncer", f"{SYNCERS}.{namespace}", syncer.HEALTH_PORT),
        ],
    }


def _build_objects(namespace: str) -> list[tuple[Any, Object]]:
    meta = {"name": NAME, "namespace": namespace}
    files = {"prometheus.yml": yaml.safe_dump(_build_config(namespace)), "alerts.yaml": ALERTS.read_text()}
    mounts = [{"name": "config", "mountPath": "/etc/prometheus"}, {"name": "data", "mountPath": "/data"}]
    container = {
        "name": NAME,
        "image": builds.REFERENCE,
        "args": ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/data"],
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": PORT}, "periodSeconds": 1, "timeoutSeconds": 10},
        "volumeMounts": mounts,
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
    }
    volumes = [{"name": "config", "configMap": {"name": NAME}}, {"name": "data", "emptyDir": {}}]
    pod = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0}
    ports = [{"name": "metrics", "port": syncer.HEALTH_PORT}]
    return [
        (kinds.CONFIG_MAP, {"metadata": meta, "data": files}),
        (kinds.SERVICE, {"metadata": meta | {"name": SYNCERS}, "spec": {"clusterIP": "None", "ports": ports}}),
        (kinds.POD, {"metadata": meta, "spec": pod}),
    ]


@functools.cache
def _push_image() -> None:
    push_images([builds.ensure_image(cache.default(), Console())])


async def start(api: Api, namespace: str) -> Prometheus:
    """One in this namespace, which has only to be there; it answers."""
    await asyncio.to_thread(_push_image)
    await wait_for(api, kinds.SERVICE_ACCOUNT, "default", namespace, bool)
    for kind, body in _build_objects(namespace):
        await api.apply(kind, body)
    await wait_for(api, kinds.POD, NAME, namespace, has("Ready", "True"))
    return Prometheus(api, namespace)


@contextlib.asynccontextmanager
async def running(api: Api, namespace: str) -> AsyncIterator[Prometheus]:
    """One, in a namespace of its own, which goes with it."""
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    try:
        yield await start(api, namespace)
    finally:
        await api.delete(kinds.NAMESPACE, namespace)
        await gone(api, kinds.NAMESPACE, namespace, "")


@pytest.fixture(scope="module")
async def prometheus(api: Api) -> AsyncIterator[Prometheus]:
    """The one that the operator lets in; it has read the operator's metrics at least once."""
    if not IS_EMBEDDED:
        pytest.skip("the image of Prometheus is built for the embedded cluster alone")
    async with running(api, MONITORING_NAMESPACE) as found:
        await found.until_scraped("operator", "up")
        yield found
