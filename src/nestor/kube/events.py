"""Events about what we did: one per change, and not without end about what flaps."""

import logging
import time
from typing import Literal

from nestor.api import names
from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import errors, kinds
from nestor.kube.client import Api
from nestor.kube.pace import Buckets, Rate

log = logging.getLogger(__name__)

BURST = 30
"""Events of one reason about one object that may come at once, more than there are backends' pods to name."""
PERIOD_SECONDS = 300.0
"""After that, one may come in so many seconds, as from Kubernetes' own components. API servers keep an event for an hour."""


class EventRecorder:
    """Posts core/v1 Events for one reporting component; failures are logged, never raised."""

    def __init__(self, api: Api, component: str) -> None:
        self._api = api
        self._component = component
        self._pace: Buckets[tuple[str, str]] = Buckets(Rate(1 / PERIOD_SECONDS, BURST))
        """By UID and reason."""

    async def post(self, about: Object, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """One event about `about` (an object with apiVersion, kind and metadata). Not if there were too many of that reason:
        whoever can make a condition flap could fill the API server with them.
        """
        key, now = (about["metadata"].get("uid", ""), reason), time.monotonic()
        if self._pace.find_wait(key, now):
            log.debug("event %s about %s %s not posted: too many", reason, about["kind"], about["metadata"]["name"])
            return
        self._pace.take(key, now)
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
        written = timestamp()
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
            "firstTimestamp": written,
            "lastTimestamp": written,
            "count": 1,
        }
        try:
            await self._api.create(kinds.EVENT, event)
        except errors.Conflict:
            pass
        except errors.ApiError as error:
            # An object that goes away takes its events with it; that is not worth a retry.
            log.info("event %s about %s %s not posted: %s", reason, about["kind"], meta["name"], error)
