"""Whether a suspended cluster is at rest: nothing of it runs on the host any more."""

from __future__ import annotations

from collections.abc import Callable

from nestor.kube import kinds
from nestor.syncer.context import Context
from nestor.translate.status import is_terminal


class Rest:
    """Asks the host itself before it says so: what was created a moment ago may not be in the cache yet."""

    def __init__(self, context: Context, is_creating: Callable[[], bool]) -> None:
        self._context = context
        self._is_creating = is_creating
        self._confirmed = False

    @property
    def is_undecided(self) -> bool:
        """True while a host pod may appear that was asked for before the suspend; to be asked again soon."""
        return self._context.caches.is_suspended and self._is_creating()

    async def is_reached(self) -> bool:
        """True when the cluster is suspended, and no host pod of it runs or is to run."""
        caches, target = self._context.caches, self._context.target
        if not caches.is_suspended or self._is_creating() or not all(map(is_terminal, caches.host_pods)):
            self._confirmed = False
        elif not self._confirmed:
            pods = await self._context.host.list(kinds.POD, target.namespace, labels=target.selector)
            # Nothing is created while suspended, so what is true once stays true until the resume.
            self._confirmed = caches.is_suspended and not self._is_creating() and all(map(is_terminal, pods))
        return self._confirmed
