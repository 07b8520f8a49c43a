"""`nestor top`: what jobs use, beside their limits."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from nestor.api import conditions, names
from nestor.api.objects import Object, conditions_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.clients.cli import console, nested, options, output, session
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.session import Place, Session
from nestor.kube import Api, ApiError, NotFound, kinds

HEAD = ("JOB", "POD", "CPU", "CPU LIMIT", "MEMORY", "MEMORY LIMIT")
UNITS: dict[str, Callable[[Decimal], str]] = {
    "cpu": lambda amount: f"{amount * 1000:.0f}m",
    "memory": lambda amount: f"{amount / 2**20:.0f}Mi",
}


@options.acting
async def top(
    place: Place, name: Annotated[str | None, options.optional_job(help="A job. Default: all whose clusters are ready.")] = None
) -> int:
    """Show the processor time and memory that the pods of a job use, beside their limits.

    It asks the job's own cluster, as `kubectl top` does there. The row of its server needs permission to get pods and their
    metrics in the job's own namespace.
    """
    async with session.opened(place) as opened:
        jobs = [await opened.get_job(name)] if name else await opened.api.list(kinds.NESTED_APP_JOB, opened.namespace)
        chosen = [job for job in jobs if name or conditions.is_true(conditions_of(job), conditions.CLUSTER_READY)]
        rows: list[list[str]] = []
        code = await session.do_each(chosen, lambda job: _read(opened, job, rows))
    if rows:
        output.print_table(HEAD, rows)
    elif not code:
        console.tell(f"nothing runs in namespace '{opened.namespace}'")
    return code


async def _read(opened: Session, job: Object, rows: list[list[str]]) -> None:
    """Adds the job's rows. Raises `Failure`."""
    name, home = job["metadata"]["name"], str(status_of(job).get("namespace"))
    async with nested.reachable(opened, job) as content, await Api.from_kubeconfig(content) as inside:
        try:
            own = build_rows(name, await inside.list(kinds.POD), await inside.list(kinds.POD_METRICS))
        except ApiError as error:
            said = "its cluster has no metrics API" if isinstance(error, NotFound) else error.message
            raise Failure(f"there are no metrics of job '{name}': {said}") from error
    server = names.server_pod(names.cluster_name(name, home))
    try:
        pod, used = [await opened.api.get(kind, server, home) for kind in (kinds.POD, kinds.POD_METRICS)]
        own = [*build_rows(name, [pod], [used]), *own]
    except ApiError as error:
        console.tell(f"the server of job '{name}' is not shown: {error.message}", mark="warn")
    rows += own


def build_rows(name: str, pods: list[Object], used: list[Object]) -> list[list[str]]:
    """Of those pods that have been measured. Pure."""
    by_name, measured = ({_where(item): item for item in items} for items in (pods, used))
    rows = []
    for where in sorted(by_name.keys() & measured.keys()):
        containers = measured[where]["containers"], by_name[where]["spec"]["containers"]
        rows.append([name, "/".join(where), *(cell for key in UNITS for cell in _show(*containers, key))])
    return rows


def _where(item: Object) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _show(used: list[Object], containers: list[Object], key: str) -> tuple[str, str]:
    """Use and limit. A pod has a limit if each of its containers has one."""
    amounts = [(item.get("usage") or {}).get(key, "0") for item in used]
    limits = [((item.get("resources") or {}).get("limits") or {}).get(key) for item in containers]
    return _sum(amounts, key), _sum(limits, key) if all(limits) else "-"


def _sum(amounts: list[Any], key: str) -> str:
    return UNITS[key](sum((parse_quantity(str(item)) for item in amounts), Decimal(0)))
