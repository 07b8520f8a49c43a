"""The status of a NestedClass: what it comes to, and what guests say of it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from nestor.api import conditions
from nestor.api.nestedclass import write_effective
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.times import timestamp
from nestor.kube import NotFound, kinds
from nestor.operator.guest import Guest
from nestor.operator.world.context import Context


async def reconcile_class(context: Context, guests: Sequence[Guest], name: str) -> None:
    """Write the status if it differs."""
    item, policy = context.cache.classes.get(name), context.classes.all().get(name)
    if item is None or is_terminating(item) or policy is None:
        return
    generation = item["metadata"].get("generation", 0)
    said = [found for guest in guests if (found := guest.judge(item, policy)) is not None]
    merged = conditions.merge(conditions_of(item), said, generation, timestamp())
    status: Object = {"observedGeneration": generation, "effective": write_effective(policy)} | (
        {"conditions": merged} if merged else {}
    )
    if status != status_of(item):
        body = {"metadata": {key: item["metadata"][key] for key in ("name", "uid")}, "status": status}
        with contextlib.suppress(NotFound):
            context.cache.classes.put(await context.api.apply(kinds.NESTED_CLASS, body, subresource="status"))
