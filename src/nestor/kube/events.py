"""Events about what we did: one per change, counted up instead of repeated."""

from __future__ import annotations

import logging
from typing import Literal

from nestor import names
from nestor.kube import errors, kinds
from nestor.kube.client import Api
from nestor.objects import Object
from nestor.times import timestamp

log = logging.getLogger(__name__)


class EventRecorder:
    """Posts core/v1 Events for one reporting component; failures are logged, never raised."""

    def __init__(self, api: Api, component: str) -> None:
        self._api = api
        self._component = component

    async def post(self, about: Object, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """One event about `about` (an object with apiVersion, kind and metadata)."""
        await self._post(about, kind, reason, message, {"generateName": f"{about['metadata']['name'][:200]}."})

    async def post_once(self, about: Object, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """The same, unless it is there already, from an earlier process."""
        meta = about["metadata"]
        name = f"{meta['name'][:200]}.{names.digest(meta['uid'], reason)}"
        await self._post(about, kind, reason, message, {"name": name})

    async def _post(
        self, about: Object, kind: Literal["Normal", "Warning"], reason: str, message: str, called: dict[str, str]
    ) -> None:
        meta = about["metadata"]
        time = timestamp()
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": called | {"namespace": meta.get("namespace") or "default"},
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": meta["name"],
                "namespace": meta.get("namespace", ""),
                "uid": meta.get("uid", ""),
            },
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._component,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        }
        try:
            await self._api.create(kinds.EVENT, event)
        except errors.Conflict:
            pass
        except errors.ApiError as error:
            # An object that goes away takes its events with it; that is not worth a retry.
            log.info("event %s about %s %s not posted: %s", reason, about["kind"], meta["name"], error)
