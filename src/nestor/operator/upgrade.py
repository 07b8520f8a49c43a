"""`nestor operator upgrade`: what helm runs before it upgrades the chart, because it never changes what is in `crds/`."""

import asyncio
import logging

from nestor.api.crd import RESOURCES, build_crd, compare, describe
from nestor.kube import Api, ApiError, kinds, process

log = logging.getLogger(__name__)


async def upgrade(api: Api) -> bool:
    """Have the definitions of this version, whole. Those of a later version stay: older ones would drop what jobs have.

    False: one that stays lacks what this version needs.
    """
    is_enough = True
    for resource in RESOURCES:
        wanted = build_crd(resource)
        name = wanted["metadata"]["name"]
        found = await api.find(kinds.CRD, name)
        if found is None:
            await api.apply(kinds.CRD, wanted)
        elif (both := compare(resource, found))[1]:
            log.warning("the definition of %s is newer: it has %s", resource.kind, describe(both[1]))
            if both[0]:
                log.error("it lacks %s: apply the definitions by hand", describe(both[0]))
                is_enough = False
            continue
        else:
            # Not applied: rules and fields that are gone would stay, as those of whoever wrote them first.
            await api.patch(kinds.CRD, name, None, [{"op": "replace", "path": "/spec", "value": wanted["spec"]}], how="json")
        log.info("the definition of %s is up to date", resource.kind)
    return is_enough


def main() -> int:
    """Run the process. Returns 1 if the chart must not be upgraded yet."""
    process.set_up_log("INFO")
    try:
        return 0 if asyncio.run(_run()) else 1
    except ApiError as error:
        log.error("the CustomResourceDefinitions are not upgraded: %s", error)
        return 1


async def _run() -> bool:
    async with await Api.connect(manager="nestor") as api:
        return await upgrade(api)
