"""`nestor operator uninstall`: what helm runs before it uninstalls the chart, while the operator is still there.

Without an operator, nobody removes the finalizers of jobs and backends, nor the namespaces of jobs.
"""

import argparse
import asyncio
import contextlib
import logging
import time

from nestor.api import labels
from nestor.api.objects import Object, is_terminating, spec_of
from nestor.kube import Api, ApiError, Kind, NotFound, kinds, process
from nestor.kube.tasks import together

log = logging.getLogger(__name__)

OWN = (kinds.NESTED_APP_JOB, kinds.OVERFLOW_BACKEND)
"""What has a finalizer."""
SHOWN = 20
_PAUSE_SECONDS = 2.0
_NAME = ("namespace", "name")


Left = list[tuple[Kind, Object]]
"""What users have made, and the namespaces that only the operator may delete."""


async def uninstall(api: Api, *, deletes: bool, limit: float) -> str | None:
    """Make sure that nothing is left that only the operator can clean up after. Returns what is wrong, or None.

    `deletes`: delete what users have made, and wait for that, `limit` seconds at most. Otherwise only look.
    """
    deadline, left = time.monotonic() + limit, None
    while True:
        try:
            found, left = left, await _find(api, shells=deletes)
            if not deletes:
                return _explain(left)
            if found is None:
                log.info("deleting %s", _describe(left) or "nothing: there is nothing left")
            if not left:
                return None
            await together(*(_end(api, kind, item["metadata"]) for kind, item in left if not is_terminating(item)))
            if time.monotonic() > deadline:
                return (
                    f"not gone after {limit:.0f} s: {_describe(left)}. Their conditions and events say why; then uninstall again"
                )
        except ApiError as error:
            # One that does not answer is asked again: helm would have to be told to go on.
            if not error.is_transient or time.monotonic() > deadline:
                raise
            log.info("asking again: %s", error)
        await asyncio.sleep(_PAUSE_SECONDS)


def main(arguments: list[str]) -> int:
    """Run the process. Returns 1 if the chart must not be uninstalled yet."""
    parser = argparse.ArgumentParser(prog="nestor operator uninstall", description="Prepare that the chart is uninstalled.")
    parser.add_argument("--jobs", choices=("Refuse", "Delete"), default="Refuse", help="what to do if there are any")
    parser.add_argument("--limit", type=float, default=600, help="seconds to wait until they are gone")
    parsed = parser.parse_args(arguments)
    process.set_up_log("INFO")
    try:
        problem = asyncio.run(_run(deletes=parsed.jobs == "Delete", limit=parsed.limit))
    except ApiError as error:
        problem = str(error)
    if problem:
        log.error("Nestor is not uninstalled: %s", problem)
    return 1 if problem else 0


async def _run(*, deletes: bool, limit: float) -> str | None:
    async with await Api.connect(manager="nestor") as api:
        return await uninstall(api, deletes=deletes, limit=limit)


async def _find(api: Api, *, shells: bool) -> Left:
    """`shells`: whether to count namespaces that are terminating. Without a job, their controller needs nobody's help."""
    found = await together(*(api.with_metadata_only().list(kind) for kind in OWN))
    wishes = [(kind, item) for kind, items in zip(OWN, found, strict=True) for item in items]
    wishes += [(kinds.NESTED_CLASS, item) for item in await api.list(kinds.NESTED_CLASS) if spec_of(item).get("pool")]
    homes = await api.with_metadata_only().list(kinds.NAMESPACE, labels=labels.JOB_UID)
    ours = (item for item in homes if item["metadata"]["name"].startswith("nestor-"))
    return wishes + [(kinds.NAMESPACE, item) for item in ours if shells or not is_terminating(item)]


async def _end(api: Api, kind: Kind, meta: Object) -> None:
    """Of a class, its pool. Namespaces are the operator's to delete."""
    if kind == kinds.NESTED_CLASS:
        with contextlib.suppress(NotFound):
            await api.patch(kind, meta["name"], None, {"spec": {"pool": 0}})
    elif kind != kinds.NAMESPACE:
        await api.delete(kind, meta["name"], meta.get("namespace"), uid=meta["uid"])


def _explain(left: Left) -> str | None:
    """Namespaces without jobs: the operator's sweep is still to come, or it has given up on them."""
    if any(kind != kinds.NAMESPACE for kind, _ in left):
        return (
            f"there are {_describe(left)}. Only the operator can clean up after them: delete them with "
            "`kubectl delete naj,ofb -A --all`, set `pool: 0` in classes, wait until they are gone, and uninstall again"
        )
    return f"jobs that are gone have left {_describe(left)}: if they stay, delete them" if left else None


def _describe(left: Left) -> str:
    """By names, of very many the first ones."""
    names = [f"{kind.name} {'/'.join(item['metadata'][key] for key in _NAME if key in item['metadata'])}" for kind, item in left]
    return ", ".join(names[:SHOWN]) + (f", and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
