"""Holds the work back until the CustomResourceDefinitions have every field that this version reads and writes.

With older ones, the API server would refuse what the operator writes, and drop what admins write into their classes.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterable

from nestor.api import labels
from nestor.api.crd import RESOURCES, UPDATE_COMMAND, compare, describe
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Forbidden, kinds
from nestor.kube.tasks import together

log = logging.getLogger(__name__)

SECONDS = 5.0


class Definitions:
    def __init__(self, api: Api) -> None:
        self._api = api
        self.problem: str | None = "the CustomResourceDefinitions have not been read yet"
        """None: they are in order."""

    async def wait(self, delays: Iterable[float] | None = None) -> None:
        """Return once they are in order. What is wrong with them is logged once."""
        for delay in delays or itertools.repeat(SECONDS):
            try:
                problem = find_problem(await self._read())
            except Forbidden as error:
                log.warning("cannot tell whether the CustomResourceDefinitions are up to date: %s", error)
                problem = None
            except ApiError as error:
                log.info("cannot read the CustomResourceDefinitions: %s", error)
                problem = self.problem
            else:
                if problem and problem != self.problem:
                    log.error("%s", problem)
            self.problem = problem
            if problem is None:
                return
            await asyncio.sleep(delay)

    async def _read(self) -> dict[str, Object]:
        """By name, and one by one: a cluster may have hundreds, of hundreds of kilobytes each. The chart's role has no `get`."""
        names = [f"{resource.plural}.{labels.GROUP}" for resource in RESOURCES]
        lists = await together(*(self._api.list(kinds.CRD, fields=f"metadata.name={name}") for name in names))
        return {item["metadata"]["name"]: item for items in lists for item in items}


def find_problem(found: dict[str, Object]) -> str | None:
    """What the definitions lack, and the command that helps; None if nothing. Fields that they have beyond ours do no harm."""
    missing, old = [], []
    for resource in RESOURCES:
        crd = found.get(f"{resource.plural}.{labels.GROUP}")
        if crd is None:
            missing.append(resource.kind)
        elif lacking := compare(resource, crd)[0]:
            old.append(f"that of {resource.kind} lacks {describe(lacking)}")
    if not missing and not old:
        return None
    what = [f"there is none of {', '.join(missing)}"] if missing else []
    return (
        f"the CustomResourceDefinitions are older than this operator: {'; '.join(what + old)}. Jobs keep running, but nothing is "
        f"done for them until you apply the new definitions: {UPDATE_COMMAND}"
    )
