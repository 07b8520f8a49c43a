"""`make demo-overflow`: a job whose pods fill a small node, and go out to a second cluster and to an interLink backend."""

import asyncio
import datetime
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

import devcluster.cluster
from devcluster.cluster import ClusterInfo
from devcluster.demo import hints, install, scene
from devcluster.demo.follow import describe_delay
from devcluster.demo.places import Places
from devcluster.demo.tools import DemoError, Tools
from devcluster.progress import Progress
from nestor.api import labels
from nestor.api.objects import labels_of
from nestor.clients.cli.view import facts
from nestor.clients.cli.view.story import Story
from nestor.kube import Api, Informer, kinds

Object = dict[str, Any]

EXAMPLE = install.ROOT / "examples" / "09-cpu-overflow" / "job.yaml"
LIMIT_SECONDS = 300.0
_WAIT = "--timeout=120s"


async def run(progress: Progress) -> int:
    """Everything, from nothing; 0 when each place had a pod. Raises `DemoError` or `RuntimeError`."""
    if (os.environ.get("CLUSTER") or "embedded") != "embedded":
        raise DemoError("only the embedded cluster has an interLink backend: run it without CLUSTER")
    info = await asyncio.to_thread(devcluster.cluster.up, progress)
    await asyncio.to_thread(install.install_nestor, info, progress)
    plugin = await asyncio.to_thread(devcluster.cluster.plugin, "up", progress)
    plugin.client.switch(hold=False, faults=[], auth="none", resources={"cpu": "1000", "memory": "1Ti"})
    tools = Tools(info.kubeconfig)
    async with await Api.connect(str(info.kubeconfig), manager="nestor-demo") as api:
        nodes = await asyncio.to_thread(_set_up, tools, plugin.server_url, progress)
        return await _show(api, info, tools, nodes, progress)


def _set_up(tools: Tools, plugin_url: str, progress: Progress) -> scene.Nodes:
    """The classes, the second cluster and both backends; safe to repeat."""
    found = json.loads(tools.kubectl("get", "nodes", "-o", "json"))["items"]
    try:
        nodes = scene.divide([node for node in found if labels.BACKEND not in labels_of(node)])
    except ValueError as error:
        raise DemoError(str(error)) from None
    default = json.loads(tools.kubectl("get", "nestedclass", "default", "-o", "json"))
    job = ("-n", scene.NAMESPACE, f"naj/{scene.CLUSTER}")
    with progress.stage("Start a second cluster, a nested one") as stage:
        _apply(tools, [*scene.build_classes(default, nodes), *scene.build_second_job()])
        for condition in ("ClusterReady", "StepsApplied"):
            tools.kubectl("wait", f"--for=condition={condition}", *job, _WAIT)
        stage.detail = f"job '{scene.CLUSTER}'"
    with progress.stage("Add both backends") as stage:
        name = tools.kubectl("get", *job, "-o", "jsonpath={.status.kubeconfigSecretName}")
        secret = ("-n", scene.NAMESPACE, f"secret/{name}")
        kubeconfig = tools.kubectl("get", *secret, "-o", "jsonpath={.data.kubeconfig}")
        _apply(tools, scene.build_backends(plugin_url, kubeconfig, nodes))
        try:
            tools.kubectl("wait", "--for=condition=Ready", f"ofb/{scene.CLUSTER}", f"ofb/{scene.PLUGIN}", _WAIT)
        except DemoError as error:
            raise DemoError(f"{error}\n\n{tools.kubectl('get', 'ofb')}") from error
        stage.detail = f"nodes '{scene.CLUSTER}' and '{scene.PLUGIN}'"
    return nodes


def _apply(tools: Tools, documents: list[Object]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documents.yaml"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump_all(documents))
        return tools.kubectl("apply", "-f", str(file))


async def _show(api: Api, info: ClusterInfo, tools: Tools, nodes: scene.Nodes, progress: Progress) -> int:
    """Run the job and tell where its pods go."""
    documents = scene.build_job(yaml.safe_load_all(EXAMPLE.read_text()), nodes)
    name = documents[-1]["metadata"]["name"]
    job = ("naj", "-n", scene.NAMESPACE, name)
    await asyncio.to_thread(tools.kubectl, "delete", *job, "--ignore-not-found", "--timeout=60s")
    given = ", ".join(f"{key}={value}" for key, value in documents[-1]["spec"]["parameters"].items())
    progress.note(f"\nNode '{nodes.pool}' is the pool of class '{scene.CLASS}'; it has room for three of the job's pods at most.")
    progress.note(f"$ kubectl apply -f {EXAMPLE.relative_to(install.ROOT)}  # with {given}")
    known = {node["metadata"]["name"]: labels_of(node).get(labels.BACKEND, "") for node in await api.list(kinds.NODE)}
    telling = Telling(api, name, Places(known), progress)
    progress.note((await asyncio.to_thread(_apply, tools, documents)).rstrip())
    ended = await telling.run(LIMIT_SECONDS)
    host = (ended.get("status") or {}).get("namespace")
    ending = facts.find_ending(ended, until_finished=True)
    if ending is None or not ending.is_good:
        progress.note(
            f"\nJob '{name}' has not completed. {f'{ending.reason}: {ending.message}' if ending else describe_delay(ended)}"
        )
        for line in hints.describe_failure_help(name, scene.NAMESPACE, host, info.kubeconfig):
            progress.note(line)
        return 1
    progress.note("\nHow many pods ran where:")
    for line in telling.places.summarize():
        progress.note(f"  {line}")
    for line in hints.describe_backends(info.kubeconfig):
        progress.note(line)
    if missing := {scene.CLUSTER, scene.PLUGIN} - set(telling.places.found.values()):
        progress.note(f"\nNo pod went to {', '.join(sorted(missing))}.")
        return 1
    return 0


class Telling:
    """Follows a job and its pods to the end of the job, and tells the news as they come."""

    def __init__(self, api: Api, name: str, places: Places, progress: Progress) -> None:
        self.places = places
        self._api = api
        self._progress = progress
        self._story = Story()
        self._begin = asyncio.get_running_loop().time()
        self._changed = asyncio.Event()
        self._job: Object = {"metadata": {"name": name, "namespace": scene.NAMESPACE}}
        self._jobs = Informer(api, kinds.NESTED_APP_JOB, scene.NAMESPACE, fields=f"metadata.name={name}")
        self._jobs.on_change(lambda _: self._changed.set())

    async def run(self, limit: float) -> Object:
        """The job as it ended, or as it was after `limit` seconds."""
        async with asyncio.TaskGroup() as group:
            watches = [group.create_task(self._jobs.run())]
            pods: Informer | None = None
            try:
                async with asyncio.timeout(limit):
                    while facts.find_ending(self._job, until_finished=True) is None:
                        await self._changed.wait()
                        self._changed.clear()
                        self._tell_job()
                        namespace = (self._job.get("status") or {}).get("namespace")
                        if pods is None and namespace:
                            pods = self._watch_pods(namespace)
                            watches.append(group.create_task(pods.run()))
                        self._tell(self.places.tell(pods) if pods is not None else [])
            except TimeoutError:
                pass
            for watch in watches:
                watch.cancel()
        return self._job

    def _watch_pods(self, namespace: str) -> Informer:
        own = labels.selector(component=labels.COMPONENT_APP)
        found = Informer(self._api, kinds.POD, namespace, labels=own)
        found.on_change(lambda _: self._changed.set())
        return found

    def _tell_job(self) -> None:
        for job in self._jobs:
            self._job = job
            self._tell(self._story.tell(job, datetime.datetime.now(datetime.UTC)))

    def _tell(self, lines: list[str]) -> None:
        seconds = asyncio.get_running_loop().time() - self._begin
        for line in lines:
            self._progress.note(f"{seconds:6.1f} s  {line}")
