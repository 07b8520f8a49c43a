"""The same Job here and at a backend, with all that takes part: nested cluster, scheduler, kubelet or virtual node, containers.

It runs in the embedded cluster, with the test plugin as the backend. Images are on the machine already, as they were in the
shortest runs that aksjobscheduler's page tells of.
"""

import contextlib
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import devcluster.cluster
from benchmarks.overflow.goals import Goal
from benchmarks.overflow.published import PUBLISHED
from devcluster import progress
from devcluster.demo import install
from nestor.kube import Api
from tests.e2e import overflow
from tests.e2e.conftest import class_like_default, fresh_namespace, kubectl, open_cluster

RUNS = 7
"""Of each place, in turns; the first ones only warm up."""
PARTS = 2


async def containers() -> list[Goal]:
    """From the creation of the nested Job to its condition Complete. It has no goal: the page's machines were others."""
    found: dict[str, list[float]] = {"here": [], "overflowed": []}
    async with _place() as place:
        for number in range(RUNS):
            for where, mode in (("here", "Never"), ("overflowed", "Always")):
                await place.allow(mode=mode)
                found[where].append(await _run(place, f"{where}-{number}"))
    print(f"containers: a Job of {PARTS} parts in a nested cluster, from its creation to Complete, median of {RUNS - 1} in turns")
    for where, published in PUBLISHED.items():
        own = found[where][1:]
        spread = f"{min(own):.1f} to {max(own):.1f}"
        print(f"  {where:<10}  {statistics.median(own):.1f} s ({spread}) · aksjobscheduler's page, shortest run: {published} s")
    here, away = (statistics.median(found[where][1:]) for where in PUBLISHED)
    print(f"  overflowed ÷ here       {away / here:.1f} · page {PUBLISHED['overflowed'] / PUBLISHED['here']:.1f}")
    return []


@contextlib.asynccontextmanager
async def _place() -> AsyncIterator[overflow.Place]:
    """A nested cluster in the embedded one, which ends with it."""
    report = progress.Console()
    with devcluster.cluster.hold("a benchmark", report), tempfile.TemporaryDirectory() as folder:
        try:
            info = devcluster.cluster.up(report)
            install.install_nestor(info, report)
            async with contextlib.AsyncExitStack() as stack:
                api = await stack.enter_async_context(await Api.connect(str(info.kubeconfig), manager="benchmark"))
                plugin, link = stack.enter_context(overflow.running_plugin()), f"link-{uuid.uuid4().hex[:6]}"
                await stack.enter_async_context(overflow.backend(api, link, overflow.interlink(plugin)))
                placement = {"overflow": {"mode": "Never", "backends": [{"name": link}]}}
                class_name = await stack.enter_async_context(class_like_default(api, "overflow", placement=placement))
                namespace = await stack.enter_async_context(fresh_namespace(api, []))
                job, inside = await open_cluster(api, "timed", namespace, Path(folder), className=class_name)
                yield overflow.Place(api, inside, job["status"]["namespace"], class_name, link)
        finally:
            devcluster.cluster.down(report)


async def _run(place: overflow.Place, name: str) -> float:
    template = {"spec": json.loads(overflow.pod(name, "echo part $JOB_COMPLETION_INDEX"))["spec"]}
    spec = {"completionMode": "Indexed", "completions": PARTS, "parallelism": PARTS, "template": template}
    begin = time.monotonic()
    await place.create(json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}))
    await kubectl(place.inside, "wait", "--for=condition=Complete", f"job/{name}")
    took = time.monotonic() - begin
    await kubectl(place.inside, "delete", "job", name)
    return took
