"""Reads what a pod needs besides itself, as the node that it is bound to: it may read what its own pods refer to, and no more.

At backends that can, what pods were given is kept up to date: tokens expire, and mounted files follow their ConfigMaps.
"""

import asyncio
import json
import logging
import random
import time

from nestor.api import data, labels
from nestor.api.base import LIMITED, Resources
from nestor.api.objects import Object, annotations_of, is_terminating
from nestor.api.pod_status import is_terminal
from nestor.kube import Api, Forbidden, Kind, NotFound, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.pods.entry import Entry, Home
from nestor.overflow.vnode.pods.registry import Registry
from nestor.overflow.vnode.pods.trim import clean, is_cut
from nestor.pods.providers.base import Inputs, Refreshes
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, find_references
from nestor.pods.translate.containers import fill_pod
from nestor.pods.translate.env import build_links
from nestor.pods.translate.volumes import Token, find_tokens

log = logging.getLogger(__name__)

LOOK_SECONDS = 15.0
PERIOD_SECONDS = 600.0
"""Between two refreshes of one pod, unless its tokens expire too soon."""
FIRST_SECONDS = 60.0
"""Until the first one: an earlier process may have made the last one a while ago. They are spread over this time."""
SHARE = 3
"""Tokens are renewed when at most this part of their time is over."""
_KINDS = {CONFIG_MAPS: kinds.CONFIG_MAP, SECRETS: kinds.SECRET}
_LINKED = ("clusterIP", "ports")
_LAG_SECONDS = 0.5
"""The API server learns a moment after the binding what the node may read."""


async def read_whole(home: Home, pod: Object) -> Object | None:
    """The pod with all that was not kept of it; None if it is gone. Raises `ApiError`."""
    if not is_cut(pod):
        return pod
    meta = pod["metadata"]
    found = await home.api.find(kinds.POD, meta["name"], meta["namespace"])
    return clean(found) if found is not None and found["metadata"]["uid"] == meta["uid"] else None


async def read_inputs(home: Home, pod: Object, *, is_fresh: bool) -> Inputs:
    """What exists of it. `is_fresh`: the pod was bound just now, so that a refusal may pass. Raises `ApiError`, `RetryLater`."""
    references = sorted(find_references(pod))
    found = await together(
        *(_read(home.api, _KINDS[item.resource], item.name, item.namespace, is_fresh=is_fresh) for item in references)
    )
    objects: dict[str, dict[str, Object]] = {CONFIG_MAPS: {}, SECRETS: {}}
    for item, obj in zip(references, found, strict=True):
        if obj is not None:
            objects[item.resource][item.name] = obj
    wanted = find_tokens(pod)
    tokens = await together(*(_request_token(home.api, pod, item) for item in wanted))
    named = {(item.volume, item.path): token for item, token in zip(wanted, tokens, strict=True)}
    environment = await _read_environment(home.api, pod)
    return Inputs(objects[CONFIG_MAPS], objects[SECRETS], named, environment, home.shape)


async def _read(api: Api, kind: Kind, name: str, namespace: str, *, is_fresh: bool) -> Object | None:
    try:
        return await api.find(kind, name, namespace)
    except Forbidden as error:
        # Node authorizers say the same of what is missing as of what is not ours.
        if is_fresh:
            raise RetryLater(_LAG_SECONDS, error.message) from None
        return None


async def _request_token(api: Api, pod: Object, token: Token) -> str:
    meta = pod["metadata"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    spec: Object = {"expirationSeconds": token.expiration_seconds, "boundObjectRef": bound}
    if token.audience:
        spec["audiences"] = [token.audience]
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    body["metadata"] = {"namespace": meta["namespace"]}
    account = pod["spec"].get("serviceAccountName") or "default"
    answer = await api.create(kinds.SERVICE_ACCOUNT, body, subresource="token", name=account)
    return str(answer["status"]["token"])


async def _read_environment(api: Api, pod: Object) -> dict[str, str]:
    """The variables that kubelets derive from Services: those of the API server always, the others if the pod wants them."""
    services: list[Object] = []
    if pod["spec"].get("enableServiceLinks") is not False:
        services = await api.list(kinds.SERVICE, pod["metadata"]["namespace"], trim=_trim_service)
    try:
        master = [await api.get(kinds.SERVICE, "kubernetes", "default")]
    except NotFound:
        master = []
    return build_links([*services, *master])


def _trim_service(service: Object) -> Object:
    spec = service["spec"]
    return {"metadata": {"name": service["metadata"]["name"]}, "spec": {key: spec[key] for key in _LINKED if key in spec}}


class Refresher:
    """Refreshes pods one after the other, each when it is due."""

    def __init__(self, refreshes: Refreshes, registry: Registry, health: Health) -> None:
        self._refreshes = refreshes
        self._registry = registry
        self._health = health
        self._due: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Refresh all pods that are due. What fails is tried again soon."""
        wanted = {entry.uid: entry for entry in self._registry if _is_of_interest(entry)}
        self._due = {uid: self._due.get(uid, time.monotonic() + random.uniform(0, FIRST_SECONDS)) for uid in wanted}
        for uid, entry in wanted.items():
            if self._health.is_answering and time.monotonic() >= self._due[uid]:
                self._due[uid] = time.monotonic() + await self._refresh(entry)

    async def _refresh(self, entry: Entry) -> float:
        """Returns the seconds until the next time."""
        pod = entry.pod
        if pod is None or not _is_of_interest(entry):
            return 0.0
        try:
            whole = await read_whole(entry.home, pod)
            if whole is None or not _has_inputs(whole):
                return PERIOD_SECONDS
            inputs = await read_inputs(entry.home, whole, is_fresh=False)
            with self._health.noting():
                await self._refreshes.refresh(whole, inputs)
        except Exception as error:
            log.info("pod %s is not refreshed: %s", pod["metadata"]["name"], describe(error))
            return LOOK_SECONDS
        return find_period(whole) * random.uniform(0.8, 1.0)


def find_period(pod: Object) -> float:
    """Seconds between two refreshes of a pod."""
    shortest = min((token.expiration_seconds for token in find_tokens(pod)), default=None)
    return PERIOD_SECONDS if shortest is None else min(PERIOD_SECONDS, shortest / SHARE)


def _is_of_interest(entry: Entry) -> bool:
    """Whether the pod runs at the backend, and was given anything."""
    pod = entry.pod
    if pod is None or entry.is_over or is_terminating(pod) or is_terminal(pod) or entry.has_ended_there:
        return False
    is_there = entry.mark == "Accepted" and entry.there == "Present"
    return is_there and (is_cut(pod) or _has_inputs(pod))


def _has_inputs(pod: Object) -> bool:
    return bool(find_references(pod) or find_tokens(pod))


def fill(pod: Object) -> Object:
    """The pod as it is sent, with what its class gives containers there that set none. No quota counts that, so no device is
    among it, whoever has written the annotation.
    """
    if not (text := annotations_of(pod).get(labels.BACKEND_RESOURCES)):
        return pod
    told = data.read(Resources, json.loads(text))
    requests, limits = ({key: part[key] for key in LIMITED if key in part} for part in (told.requests or {}, told.limits or {}))
    return pod | {"spec": fill_pod(pod["spec"], Resources(requests=requests, limits=limits))}
