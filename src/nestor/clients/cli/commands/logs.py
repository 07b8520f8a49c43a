"""`nestor logs`: the output of a job's steps, or of one of its pods."""

import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

import typer

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, spec_of, status_of
from nestor.clients.cli import completion, console, nested, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.loglines import Wanted, pick_lines, stream
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view.facts import address, describe_cluster
from nestor.kube import Api, Forbidden, Invalid, NotFound, kinds

Part = Annotated[
    str | None,
    options.argument(
        metavar="STEP|POD",
        help="A step, or a pod of the nested cluster as NAME or NAMESPACE/NAME. Default: all steps.",
        autocompletion=completion.complete_part,
    ),
]


@options.acting
async def logs(
    place: Place,
    name: options.JobName,
    part: Part = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new lines until the pod ends.")] = False,
    tail: Annotated[int | None, options.option("--tail", min=0, help="Print only this many of the last lines.")] = None,
    container: Annotated[str | None, options.option("--container", "-c", help="Container of the pod.")] = None,
) -> int:
    """Print the output of all steps of a job, of one step, or of one of the application's pods.

    If you have no permission to read the job's own namespace, pods are read through the nested cluster, and through a `kubectl
    port-forward` tunnel if its address is not reachable from here.
    """
    wanted = Wanted(follow, tail, container)
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        steps = [step["name"] for step in status_of(job).get("steps") or ()]
        if part is None or part in steps:
            await _print_steps(opened, job, part, wanted)
        else:
            await _print_pod(opened, job, part, wanted, steps)
    return Code.OK


async def _print_steps(opened: Session, job: Object, step: str | None, wanted: Wanted) -> None:
    where, name = status_of(job).get("namespace"), job["metadata"]["name"]
    if not spec_of(job).keys() & {"app", "appRef"}:
        raise Failure(f"job '{name}' has no application, and so no steps")
    if not where:
        raise Failure(f"no step of job '{name}' has run yet: {describe_cluster(job)}")
    pod = names.child(names.cluster_name(name, where), names.Part.RUNNER)
    # `--tail` counts the lines that are shown, of which a step has only some: the server cannot count them.
    everything = Wanted(follow=wanted.follow, tail=None if step else wanted.tail)
    try:
        if wanted.follow:
            await _await_start(opened.api, pod, where)
        lines = pick_lines(stream(opened.api, pod, where, everything), step)
        await print_lines(lines if wanted.follow or not step else last_lines(lines, wanted.tail))
    except NotFound:
        _print_messages(job, step)
        why, code = "the runner's pod does not exist (the job is suspended or has not started)", Code.NOT_FOUND
    except Forbidden:
        _print_messages(job, step)
        why, code = f"you have no permission to `get` pods/log in namespace '{where}'", Code.NO_ACCESS
    except Invalid as error:
        raise Failure(f"the runner of job '{name}' has no log yet: {error.message}") from error
    else:
        return
    raise Failure(f"the full log of the steps cannot be read: {why}", code)


def _print_messages(job: Object, step: str | None) -> None:
    """What the status holds of the steps' output: the last lines of what failed."""
    for item in status_of(job).get("steps") or ():
        if item.get("message") and step in (None, item["name"]):
            output.write("".join(f"[{item['name']}] {line}\n" for line in console.clean(item["message"]).splitlines()))


async def _print_pod(opened: Session, job: Object, part: str, wanted: Wanted, steps: list[str]) -> None:
    nested_namespace, _, pod = part.removeprefix("pod/").rpartition("/")
    try:
        found = await find_host_pod(opened.api, job, pod, nested_namespace)
        if found is not None:
            await print_lines(stream(opened.api, found["metadata"]["name"], found["metadata"]["namespace"], wanted))
            return
    except Forbidden:
        async with nested.reachable(opened, job) as content, await Api.from_kubeconfig(content) as api:
            try:
                await print_lines(stream(api, pod, nested_namespace or "default", wanted))
                return
            except NotFound:
                pass
    known = ", ".join(f"'{step}'" for step in steps) or "none yet"
    raise Failure(
        f"job '{job['metadata']['name']}' has no step and no running pod '{part}'; its steps: {known}",
        Code.NOT_FOUND,
        hint=f"`nestor exec {address(job)} -- kubectl get pods -A` lists its pods",
    )


async def find_host_pod(api: Api, job: Object, name: str, nested_namespace: str) -> Object | None:
    """The host pod that stands for a nested one. Raises `Failure` where several nested namespaces have that name."""
    where = status_of(job).get("namespace")
    if not where:
        return None
    pods = await api.list(kinds.POD, where, labels=f"{labels.CLUSTER}={names.cluster_name(job['metadata']['name'], where)}")
    annotated = [(pod, annotations_of(pod)) for pod in pods]
    found = [
        (pod, notes)
        for pod, notes in annotated
        if notes.get(labels.NESTED_NAME) == name and nested_namespace in ("", notes.get(labels.NESTED_NAMESPACE))
    ]
    if len(found) > 1:
        spaces = ", ".join(f"'{notes.get(labels.NESTED_NAMESPACE)}/{name}'" for _, notes in found)
        raise Failure(f"several pods are named '{name}': {spaces}", Code.USAGE)
    return found[0][0] if found else None


async def _await_start(api: Api, pod: str, namespace: str) -> None:
    """Until the runner's pod has begun, so that there is a log to follow."""
    if await api.find(kinds.POD, pod, namespace) is None:
        console.tell("waiting for the runner", mark="waiting", style="dim")
    async with aclosing(session.watch_one(api, kinds.POD, namespace, pod)) as states:
        async for found in states:
            if found and status_of(found).get("phase") in ("Running", "Succeeded", "Failed"):
                return


async def last_lines(lines: AsyncIterator[str], count: int | None) -> AsyncIterator[str]:
    kept = [line async for line in lines]
    for line in kept if count is None else kept[len(kept) - min(count, len(kept)) :]:
        yield line


async def print_lines(lines: AsyncIterator[str]) -> None:
    """To standard output, each at once; cleaned of what would steer a terminal, verbatim into a file."""
    is_terminal = sys.stdout.isatty()
    async for line in lines:
        sys.stdout.write((console.clean(line) if is_terminal else line) + "\n")
        sys.stdout.flush()
