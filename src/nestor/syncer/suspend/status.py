"""Whether a suspend is complete: nothing of the nested cluster runs on the host any more."""

from __future__ import annotations

from collections.abc import Callable

from nestor.kube import kinds
from nestor.providers.base import Provider
from nestor.syncer.view.context import Context
from nestor.translate.status import is_terminal


class SuspendStatus:
    """Asks the provider itself before it says so: what was created a moment ago may not be in the cache yet."""

    def __init__(self, context: Context, provider: Provider, is_creating: Callable[[], bool]) -> None:
        self._caches = context.caches
        self._provider = provider
        self._is_creating = is_creating
        self._confirmed = False

    def on_change(self, handler: Callable[[], None]) -> None:
        """Have `handler` called when the answer may be another one."""
        self._caches.host(kinds.POD).on_change(lambda _: handler())

    @property
    def is_undecided(self) -> bool:
        """True while a host pod may appear that was asked for before the suspend; to be asked again soon."""
        return self._caches.is_suspended and self._is_creating()

    async def is_complete(self) -> bool:
        """True when the cluster is suspended, and no host pod of it runs or is to run."""
        caches = self._caches
        if not caches.is_suspended or self._is_creating() or not all(map(is_terminal, caches.host(kinds.POD))):
            self._confirmed = False
        elif not self._confirmed:
            pods = await self._provider.list()
            # Nothing is created while suspended, so what is true once stays true until the resume.
            self._confirmed = caches.is_suspended and not self._is_creating() and all(map(is_terminal, pods))
        return self._confirmed
