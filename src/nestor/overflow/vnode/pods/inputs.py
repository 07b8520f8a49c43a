"""Reads what a pod needs besides itself, as the node that it is bound to: it may read what its own pods refer to, and no more."""

from __future__ import annotations

from nestor.api.objects import Object
from nestor.kube import Api, Forbidden, Kind, NotFound, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.overflow.vnode.pods.entry import Home
from nestor.overflow.vnode.pods.trim import clean, is_cut
from nestor.pods.providers.base import Inputs
from nestor.pods.translate.references import CONFIG_MAPS, SECRETS, find_references
from nestor.pods.translate.service_env import build_links
from nestor.pods.translate.volumes import Token, find_tokens

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
        services = await api.list_trimmed(kinds.SERVICE, _trim_service, pod["metadata"]["namespace"])
    try:
        master = [await api.get(kinds.SERVICE, "kubernetes", "default")]
    except NotFound:
        master = []
    return build_links([*services, *master])


def _trim_service(service: Object) -> Object:
    spec = service["spec"]
    return {"metadata": {"name": service["metadata"]["name"]}, "spec": {key: spec[key] for key in _LINKED if key in spec}}
