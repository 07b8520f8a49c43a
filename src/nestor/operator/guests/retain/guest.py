"""Keeps the volumes of jobs whose class says so, until too many are left."""

from __future__ import annotations

from nestor.objects import Object
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Denial
from nestor.operator.guest import Guest
from nestor.operator.guests.retain.limit import check_retained, find_limit
from nestor.operator.guests.retain.volumes import is_retained, list_retained, retain_volumes


class Retain(Guest):
    """The volumes that stay."""

    async def begin(self, resolved: Resolved) -> Denial | None:
        """What earlier jobs have left may be too much for one that begins."""
        name = resolved.class_name
        policy = self._context.classes.all().get(name)
        if policy is None or (limit := find_limit(policy)) is None:
            return None
        return check_retained(resolved.namespace, name, limit, await list_retained(self._context.api, resolved.namespace))

    async def spare(self, namespace: Object) -> None:
        """Have the volumes outlive their claims."""
        if is_retained(namespace):
            await retain_volumes(self._context.api, namespace)
