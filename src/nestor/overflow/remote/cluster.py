"""The other cluster: one client, one watch of the backend's pods, and the question whether it answers."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from urllib.parse import urlencode

from nestor.api import labels, names
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, ApiError, kinds
from nestor.overflow.remote import words
from nestor.overflow.remote.build import build_marks
from nestor.overflow.remote.cache import PodCache
from nestor.overflow.remote.settings import Settings
from nestor.pods.providers.base import Options
from nestor.pods.providers.errors import NotYet, Unreachable
from nestor.pods.providers.words import hide


class Cluster:
    """Connects when it is first used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._connecting = asyncio.Lock()
        self._api: Api | None = None
        self._pods: PodCache | None = None

    async def close(self) -> None:
        """End the watch, and close all connections."""
        if self._pods is not None:
            await self._pods.close()
        if self._api is not None:
            await self._api.close()

    async def connect(self) -> Api:
        """The client. Raises `Unreachable` if the credentials are none."""
        async with self._connecting:
            if self._api is None:
                try:
                    self._api = await self.settings.access.connect(self.settings.limits)
                except ApiError as error:
                    raise Unreachable(f"the credentials cannot be used: {error.message}") from None
            return self._api

    async def cache(self) -> PodCache:
        """What is known of the backend's pods; perhaps nothing yet."""
        api = await self.connect()
        if self._pods is None:
            self._pods = PodCache(api, self.settings.namespace, self.settings.uid)
        return self._pods

    async def look(self) -> PodCache:
        """All pods of the backend. Raises `ProviderError` if the API server does not answer at the moment."""
        cache = await self.cache()
        await self.ask()
        if not await cache.wait(self.settings.limits.sync_seconds):
            raise Unreachable("the pods in the cluster are not known yet")
        return cache

    async def ask(self) -> None:
        """A small request that needs our credentials, and the right to list pods. Raises `ProviderError`."""
        api = await self.connect()
        with self.in_our_words():
            # By name, an API server looks at one key, however many pods there are.
            answer = await api.request("GET", kinds.POD.path(self.settings.namespace), {"fieldSelector": "metadata.name=nestor"})
            if not isinstance(answer, dict):
                raise Unreachable("the server at this URL is no API server")

    async def find(self, pod: Object) -> Object | None:
        """The pod that runs for a host pod, asked for just now; None if there is none. Raises `ProviderError`."""
        api = await self.connect()
        with self.in_our_words():
            there = await api.find(kinds.POD, _name(pod), self.settings.namespace)
            if there is not None:
                self._check_owner(pod, there)
        return there

    def path(self, pod: Object, subresource: str, options: Options) -> str:
        """Path and query of a subresource of the pod."""
        path = kinds.POD.path(self.settings.namespace, _name(pod), subresource)
        return path + ("?" + urlencode(options) if options else "")

    def in_our_words(self, *, is_stream: bool = False) -> AbstractContextManager[None]:
        """See `words.in_our_words`."""
        return words.in_our_words(self._hide, is_stream=is_stream)

    def _check_owner(self, pod: Object, there: Object) -> None:
        """Raise `NotYet` if somebody else's pod has the name, however unlikely."""
        marks, found = build_marks(pod, self.settings), labels_of(there)
        if any(found.get(key) != marks[key] for key in (labels.HOST_UID, labels.BACKEND_UID)):
            raise NotYet(f"pod '{there['metadata']['name']}' in the cluster belongs to another backend")

    def _hide(self, text: str) -> str:
        try:
            return hide(text, self.settings.access.list_secrets())
        except ApiError:  # the token is gone
            return text


def _name(pod: Object) -> str:
    meta = pod["metadata"]
    return names.remote_pod(meta["name"], meta["uid"])
