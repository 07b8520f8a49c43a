"""Tells whether a suspend is complete, which means that no pod of the nested cluster runs on the host any more."""

from __future__ import annotations

from collections.abc import Callable

from nestor.kube import kinds
from nestor.pods.providers.base import Provider
from nestor.pods.translate.status import is_terminal
from nestor.syncer.view.context import Context


class SuspendStatus:
    """Confirms a complete suspend with the provider, because the cache may not show a pod created a moment ago."""

    def __init__(self, context: Context, provider: Provider, is_creating: Callable[[], bool]) -> None:
        self._caches = context.caches
        self._provider = provider
        self._is_creating = is_creating
        self._confirmed = False

    def on_change(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever the answers may have changed."""
        self._caches.host(kinds.POD).on_change(lambda _: handler())

    @property
    def is_undecided(self) -> bool:
        """True while a host pod requested before the suspend may still appear; ask again soon."""
        return self._caches.is_suspended and self._is_creating()

    async def is_complete(self) -> bool:
        """True if the cluster is suspended and none of its host pods runs or will run."""
        caches = self._caches
        if not caches.is_suspended or self._is_creating() or not all(map(is_terminal, caches.host(kinds.POD))):
            self._confirmed = False
        elif not self._confirmed:
            pods = await self._provider.list()
            # Nothing is created while suspended, so once true, this stays true until the resume.
            self._confirmed = caches.is_suspended and not self._is_creating() and all(map(is_terminal, pods))
        return self._confirmed
