"""`make demo`: cluster, Nestor, hello-world, its page."""

import asyncio
import os
from pathlib import Path
from typing import Any

import yaml

import devcluster.cluster
from devcluster.cluster import ClusterInfo, paths
from devcluster.demo import follow, hints, install, page
from devcluster.demo.tools import Tools
from devcluster.progress import Progress
from nestor.kube import Api, kinds

Object = dict[str, Any]

EXAMPLE = install.ROOT / "examples" / "01-hello-world"
LIMIT_SECONDS = 180.0
DELETE_SECONDS = 60


async def run(progress: Progress) -> int:
    """Everything, from nothing; 0 when the page was fetched. Raises `DemoError` or `RuntimeError`."""
    # Each of these runs commands and waits; nothing else is to be done meanwhile.
    info = await asyncio.to_thread(devcluster.cluster.up, progress)
    await asyncio.to_thread(install.install_nestor, info, progress)
    return await show_job(info, choose_example(), progress)


async def show_job(info: ClusterInfo, file: Path, progress: Progress) -> int:
    """Apply an example and follow its job to the page."""
    tools = Tools(info.kubeconfig)
    async with await Api.connect(str(info.kubeconfig), manager="nestor-demo") as api:
        is_there = await _remove_outdated(api, file, tools, progress)
        progress.note("")
        progress.note(f"$ kubectl apply -f {_shorten(file)}")
        begin = asyncio.get_running_loop().time()
        output = await asyncio.to_thread(tools.kubectl, "apply", "-f", str(file))
        for line in output.splitlines():
            progress.note(line)
        try:
            job, content, seconds = await _await_page(api, job_of(file), begin, progress)
        except follow.Failed as failed:
            return _report_failure(failed, info, progress)
    _report(job, content, None if is_there else seconds, info, progress)
    return 0


def choose_example() -> Path:
    """hello-world from its app image; on somebody else's cluster, which cannot pull that, from a ConfigMap."""
    return EXAMPLE / ("job-from-configmap.yaml" if os.environ.get("CLUSTER") == "current" else "job.yaml")


def _shorten(file: Path) -> str:
    """The path as somebody would type it here."""
    return os.path.relpath(file)


def job_of(file: Path) -> Object:
    """The NestedAppJob among the documents of an example."""
    [job] = [item for item in yaml.safe_load_all(file.read_text()) if item["kind"] == "NestedAppJob"]
    found: Object = job
    return found


async def _remove_outdated(api: Api, file: Path, tools: Tools, progress: Progress) -> bool:
    """Whether the job is there already and well; one that failed, differs, or is going, is gone afterwards."""
    wanted = job_of(file)
    name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
    found = await api.find(kinds.NESTED_APP_JOB, name, namespace)
    if found is None:
        return False
    is_going = "deletionTimestamp" in found["metadata"]
    if is_same(wanted["spec"], found["spec"]) and follow.is_ready(found) and not is_going:
        progress.note(f"Job '{name}' runs already, since {found['metadata']['creationTimestamp']}.")
        return True
    with progress.stage(f"Delete the earlier job '{name}'"):
        await asyncio.to_thread(
            tools.kubectl, "delete", "naj", "-n", namespace, name, "--ignore-not-found", f"--timeout={DELETE_SECONDS}s"
        )
    return False


async def _await_page(api: Api, wanted: Object, begin: float, progress: Progress) -> tuple[Object, str, float]:
    """Follow the job to its page; the job, the page, and the seconds since `begin`."""
    loop = asyncio.get_running_loop()

    def tell(line: str) -> None:
        progress.note(f"{loop.time() - begin:6.1f} s  {line}")

    follower = follow.Follower(api, wanted["metadata"]["name"], wanted["metadata"]["namespace"], tell)
    with progress.stage(f"Job '{wanted['metadata']['name']}'") as stage:
        job, content = await follower.run(LIMIT_SECONDS)
        stage.detail = "ready"
    return job, content, follower.answered - begin


def _report(job: Object, content: str, seconds: float | None, info: ClusterInfo, progress: Progress) -> None:
    url = job["status"]["url"]
    progress.note("")
    progress.note(f"  {url}")
    for line in page.to_text(content).splitlines():
        progress.note(f"  │ {line}")
    progress.note("")
    if seconds is not None:
        progress.note(f"From `kubectl apply` to HTTP 200: {seconds:.1f} s.")
    tools = paths.default().bin
    for line in hints.describe_surroundings(job, info.kubeconfig, tools if (tools / "kubectl").exists() else None):
        progress.note(line)


def _report_failure(failed: follow.Failed, info: ClusterInfo, progress: Progress) -> int:
    meta, status = failed.job["metadata"], failed.job.get("status") or {}
    progress.note(f"\nJob '{meta['name']}' did not get to its page. {failed}\n")
    for line in hints.describe_failure_help(meta["name"], meta["namespace"], status.get("namespace"), info.kubeconfig):
        progress.note(line)
    return 1


def is_same(wanted: Object, found: Any) -> bool:
    """`found` has everything of `wanted`; what the API server added by itself does not count."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and is_same(value, found[key]) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(is_same, wanted, found))
    return bool(wanted == found)
