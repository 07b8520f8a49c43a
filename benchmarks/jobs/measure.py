"""`make bench NAMES=jobs`: the embedded cluster with Nestor, `nestor bench` in it, and what its processes take meanwhile."""

import asyncio
import contextlib
import datetime
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import devcluster.cluster
from benchmarks.jobs import page
from benchmarks.jobs.processes import Meter
from benchmarks.nested.load import Load
from devcluster.cluster import ClusterInfo, settings
from devcluster.demo import install
from devcluster.progress import Console
from nestor.api import conditions
from nestor.api.objects import Object, conditions_of
from nestor.clients.cli.bench import app
from nestor.kube import Api, kinds
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/evidence"
NAMESPACE, KEPT = "bench", "bench-kept"
COUNT = int(os.environ.get("COUNT", "30"))
AT_ONCE = [int(word) for word in os.environ.get("AT_ONCE", "1 2 4 8").split()]
COSTED = 10
"""Jobs whose processor time is measured, without the floor between them."""
IDLE_SECONDS, SETTLE_SECONDS = 60, 20
LIMIT = 600.0


async def jobs() -> None:
    """Measure, and write the page after each run: they take minutes."""
    progress, was_running = Console(), devcluster.cluster.status().running
    info = await asyncio.to_thread(devcluster.cluster.up, progress)
    try:
        await asyncio.to_thread(install.install_nestor, info, progress)
        async with await Api.connect(str(info.kubeconfig), manager="benchmarks") as api:
            await api.apply(kinds.NAMESPACE, {"metadata": {"name": NAMESPACE}})
            record: Object = describe_machine() | await _measure_costs(api, info) | {"runs": []}
            for at_once in AT_ONCE:
                record["runs"] = sorted([*record["runs"], await _bench(info, COUNT, at_once)], key=lambda run: run["atOnce"])
                page.write(FOLDER, record)
            await api.delete(kinds.NAMESPACE, NAMESPACE)
    finally:
        if not was_running:
            devcluster.cluster.down(progress)


async def _measure_costs(api: Api, info: ClusterInfo) -> Object:
    others = {pod["metadata"]["uid"] for pod in await api.list(kinds.POD)}
    alone = await _share(others)
    async with _kept(api) as pods:
        idle, memory = await _share(others), Meter(others).memory(pods)
    meter, begin = Meter(others), asyncio.get_running_loop().time()
    async with meter.running():
        await _bench(info, COSTED, 1, "--no-floor")
    took, counted = asyncio.get_running_loop().time() - begin, COSTED + 1  # the first one, which the command does not count
    processor = {who: (seconds - alone.get(who, 0.0) * took) / counted for who, seconds in meter.result().items()}
    more = {who: share - alone.get(who, 0.0) for who, share in idle.items()}
    return {"processor": processor, "idle": more, "memory": memory}


async def _share(others: set[str]) -> dict[str, float]:
    """Of a core, by process, while nothing happens."""
    await asyncio.sleep(SETTLE_SECONDS)
    meter = Meter(others)
    async with meter.running():
        await asyncio.sleep(IDLE_SECONDS)
    return {who: found / IDLE_SECONDS for who, found in meter.result().items()}


async def _bench(info: ClusterInfo, count: int, at_once: int, *options: str) -> Object:
    """What the command reports, and how busy the machine was."""
    command = [sys.executable, "-m", "nestor", "-n", NAMESPACE, "bench", f"--jobs={count}", f"--at-once={at_once}", "-o", "json"]
    environment, load = os.environ | {"KUBECONFIG": str(info.kubeconfig)}, Load()
    process = await asyncio.create_subprocess_exec(*command, *options, stdout=subprocess.PIPE, env=environment)
    output, _ = await process.communicate()
    return {**json.loads(output), "load": str(load)}


@contextlib.asynccontextmanager
async def _kept(api: Api) -> AsyncIterator[set[str]]:
    """A job that runs, of the same app; the UIDs of its pods."""
    meta = {"name": KEPT, "namespace": NAMESPACE}
    await api.apply(kinds.CONFIG_MAP, app.build_templates(app.IMAGE) | {"metadata": meta})
    spec = {"app": {"templatesFrom": {"configMapRef": {"name": KEPT}}, "appDef": app.APPDEF}}
    await api.apply(kinds.NESTED_APP_JOB, {"metadata": meta, "spec": spec})

    try:
        job = await wait_for(api, kinds.NESTED_APP_JOB, KEPT, NAMESPACE, _is_ready, limit=LIMIT)
        assert job is not None
        yield {pod["metadata"]["uid"] for pod in await api.list(kinds.POD, job["status"]["namespace"])}
    finally:
        await api.delete(kinds.NESTED_APP_JOB, KEPT, NAMESPACE)
        await wait_for(api, kinds.NESTED_APP_JOB, KEPT, NAMESPACE, lambda job: job is None, limit=LIMIT)


def _is_ready(job: Object | None) -> bool:
    return conditions.is_true(conditions_of(job or {}), conditions.READY)


def describe_machine() -> Object:
    """When, where, and of what."""
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "model": models[0] if models else "?",
        "cores": os.cpu_count(),
        "kubernetes": settings.KUBERNETES_VERSION,
        "note": os.environ.get("NOTE", ""),
    }
