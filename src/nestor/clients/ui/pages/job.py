"""One job: what happened to it, where its pods are, and what it was given."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from nestor.api import labels, names
from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.clients.cli import kubeconfigs
from nestor.clients.cli.view.events import read_event, selector
from nestor.clients.cli.view.facts import describe_app
from nestor.clients.ui import frame, words
from nestor.clients.ui.models import actions, inputs, jobs, pods, progress
from nestor.clients.ui.models.jobs import job_path
from nestor.clients.ui.visitor import List, Visitor
from nestor.clients.ui.words import Told
from nestor.kube import ApiError, Informer, NotFound, kinds

EVENTS = 50
"""So many are shown, the latest ones."""
NODES = List(kinds.NODE, labels=labels.BACKEND)
"""The virtual ones: who may not see them is told the names of nodes instead of backends."""
SAID = {
    "suspended": "The job is being suspended: its pods stop.",
    "resumed": "The job is being resumed.",
    "rerun": "All steps will run again.",
    "extended": "The job has more time now.",
    "most": "The job has all the time now that its class allows.",
}


class Job:
    template = "job.html"

    def __init__(self, namespace: str, name: str, said: str = "") -> None:
        self._namespace, self._name, self._said = namespace, name, SAID.get(said, "")

    @asynccontextmanager
    async def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        wanted = List(kinds.NESTED_APP_JOB, self._namespace, fields=f"metadata.name={self._name}")
        async with visitor.hub.use(wanted, on_change) as jobs, AsyncExitStack() as stack:
            first = self._find(jobs)
            home = status_of(first).get("namespace")
            nodes, _ = await _try(stack, visitor, NODES, on_change) if home else (None, None)
            inside = List(kinds.POD, home, labels=f"{labels.CLUSTER}={names.cluster_name(self._name, home or '')}")
            found, refusal = await _try(stack, visitor, inside, on_change) if home else (None, None)
            about = List(kinds.EVENT, self._namespace, fields=selector(first), trim=keep_event)
            own, closed = await _try(stack, visitor, about, on_change)
            within = List(kinds.EVENT, home, trim=keep_event)
            inner, hidden = await _try(stack, visitor, within, on_change) if home else (None, None)

            def read() -> dict[str, object]:
                job = self._find(jobs)
                if status_of(job).get("namespace") != home or selector(job) != selector(first):
                    raise frame.Moved
                backends = {node["metadata"]["name"]: labels_of(node)[labels.BACKEND] for node in nodes or ()}
                events = sorted((item["event"] for item in (*(own or ()), *(inner or ()))), reverse=True)[:EVENTS]
                more = {"events": events, "hidden": closed or hidden, "trouble": jobs.trouble}
                return self._build(job, list(found or ()), backends, refusal) | more

            yield read

    def _find(self, jobs: Informer) -> Object:
        job = jobs.get(self._name, self._namespace)
        if job is None:
            raise NotFound(404, "NotFound", f"job '{self._name}' is not there", {"name": self._name})
        return job

    def _build(self, job: Object, found: list[Object], backends: dict[str, str], refusal: Told | None) -> dict[str, object]:
        spec, status, meta, state = spec_of(job), status_of(job), job["metadata"], progress.state_of(job)
        return {
            "name": self._name,
            "namespace": self._namespace,
            "path": job_path(self._namespace, self._name),
            "said": self._said,
            "state": state,
            "advice": status.get("nextStep") if state.mood != "good" else None,
            "stages": progress.list_stages(job),
            "steps": progress.list_steps(job),
            "actions": actions.list_actions(job),
            "ends": actions.find_ends(job),
            "again": jobs.again_path(job),
            "url": jobs.open_url(job),
            "targets": [item for item in status.get("targets") or () if jobs.safe_url(item.get("url"))],
            "owner": jobs.owner_of(job),
            "keeper": jobs.find_keeper(job),
            "created": str(meta.get("creationTimestamp") or ""),
            "app": describe_app(spec),
            "parameters": inputs.list_parameters(job),
            "has_cluster": bool(status.get("kubeconfigSecretName")),
            "facts": _list_facts(spec, status),
            "places": pods.group_pods(found, backends, job),
            "counts": pods.list_counts(job),
            "refusal": refusal,
        }


def keep_event(event: Object) -> Object:
    kept = {key: event["metadata"].get(key) for key in ("name", "namespace", "uid", "resourceVersion")}
    return {"metadata": kept, "event": read_event(event)}


async def _try(
    stack: AsyncExitStack, visitor: Visitor, wanted: List, on_change: Callable[[], None]
) -> tuple[Informer | None, Told | None]:
    """The list, or why there is none."""
    try:
        found = await stack.enter_async_context(visitor.hub.use(wanted, on_change))
    except ApiError as error:
        if error.is_transient:
            raise
        return None, words.tell(error, is_shared=visitor.is_shared)
    return found, None


def _list_facts(spec: Object, status: Object) -> list[tuple[str, str]]:
    rules = spec.get("failurePolicy") or {}
    restarts = f"{status['restarts']} of {rules.get('maxRestarts', 3)}" if status.get("restarts") else ""
    found = [
        ("Command", str(status.get("command") or spec.get("command") or "")),
        ("Class", find_class_name({"spec": spec, "status": status}, FALLBACK)),
        ("Machine", str(spec.get("machine") or status.get("machine") or "")),
        ("Kubernetes", str(status.get("kubernetesVersion") or "")),
        ("Restarts", restarts),
        ("Own namespace", str(status.get("namespace") or "")),
    ]
    return [(name, value) for name, value in found if value]


def read_view(request: web.Request) -> Job:
    return Job(request.match_info["namespace"], request.match_info["job"], request.query.get("said", ""))


async def show(request: web.Request) -> web.Response:
    return await frame.show(request, read_view(request))


async def live(request: web.Request) -> web.StreamResponse:
    return await frame.stream(request, read_view(request))


async def download(request: web.Request) -> web.Response:
    """`GET …/kubeconfig`: that of the nested cluster's admin, for whoever may read its Secret."""
    visitor, job = await frame.get_job(request)
    content, name = await kubeconfigs.read(visitor.api, job), kubeconfigs.context_name(job)
    headers = {"Content-Disposition": f'attachment; filename="{name}.kubeconfig"'}
    text = json.dumps(kubeconfigs.renamed(content, name), indent=2)
    return web.Response(text=text, content_type="application/octet-stream", headers=headers)
