"""Tokens of nested service accounts: one host Secret per pod, renewed before the tokens expire.

As on a kubelet, tokens are bound to the nested pod and become invalid with it. They should also name the pod's node, but the host
pod needs them before it has one: its kubelet starts it as soon as it is scheduled. So they are requested again when the nested
pod is bound. From then on the host pod owns the Secret, so that the host's garbage collector removes it.
"""

import base64
import datetime
from functools import partial

from nestor.api import labels, times
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, owner_reference, spec_of
from nestor.api.pod_status import is_terminal
from nestor.kube import Change, Forbidden, WorkQueue, kinds
from nestor.kube.index import Index
from nestor.kube.tasks import together
from nestor.pods.translate import volumes
from nestor.pods.translate.target import nested_uid
from nestor.pods.translate.volumes import Token
from nestor.syncer import limits
from nestor.syncer.copies.copier import Writer
from nestor.syncer.copies.fields import value
from nestor.syncer.copies.row import is_synced_from
from nestor.syncer.copies.rows.config import SECRET_FIELDS
from nestor.syncer.view.context import RETRY_LIMIT, Context

_PURPOSE = "token"
_WORKERS = 8
_RENEW_AT = 0.8
"""Renew a token after this fraction of its lifetime, as a kubelet does."""
_FIELDS = (*SECRET_FIELDS, value("metadata.ownerReferences"))


class TokenController:
    """Requests tokens when a pod is created, renews them while it exists, and removes them afterwards."""

    def __init__(self, context: Context) -> None:
        self._context = context
        secrets, pods = context.caches.host(kinds.SECRET), context.caches.nested(kinds.POD)
        self._writer = Writer(context.host, kinds.SECRET, _FIELDS, partial(is_synced_from, context.target.cluster), secrets)
        self._by_uid = Index(secrets, _pod_uid)
        self._bytes = context.caches.copied_bytes
        self.queue = WorkQueue(self._reconcile, workers=_WORKERS, name="tokens", max_delay=RETRY_LIMIT)
        secrets.on_change(self._on_secret)
        pods.on_change(self._on_pod)
        context.caches.host(kinds.POD).on_change(self._on_host_pod)

    async def ensure(self, pod: Object) -> None:
        """Create the Secret with the tokens that this pod mounts; call it before the pod is created."""
        wanted = volumes.find_tokens(pod)
        if wanted and _due(self._secret(pod), pod) <= 0:
            await self._renew(pod, wanted)

    def _on_secret(self, change: Change) -> None:
        if uid := _pod_uid(change.latest):
            self.queue.add(uid)

    def _on_pod(self, change: Change) -> None:
        if change.new is None or spec_of(change.old).get("nodeName") != spec_of(change.new).get("nodeName"):
            self.queue.add(change.latest["metadata"]["uid"])

    def _on_host_pod(self, change: Change) -> None:
        if change.new is None:
            self.queue.add(nested_uid(change.latest))

    async def _reconcile(self, uid: str) -> float | None:
        pod = self._context.caches.nested_by_uid.get(uid)
        if pod is None:
            await self._remove(uid)
            return None
        wanted, secret, host = volumes.find_tokens(pod), self._secret(pod), self._context.caches.host_by_uid.get(uid)
        if not wanted or is_terminal(pod):
            return None
        if secret is None and (is_terminating(pod) or is_terminating(host)):
            return None  # collected, perhaps, and the news of the host pod's end are late
        due = _due(secret, pod)
        if host is not None:
            return due if due > 0 else await self._renew(pod, wanted)
        if secret is not None and due <= 0:
            await self._writer.remove(secret)  # the pod waits, perhaps for long; its tokens are requested again with its host pod
        return due if due > 0 else None

    async def _renew(self, pod: Object, wanted: list[Token]) -> float:
        answers = await together(*(self._request(pod, token) for token in wanted))
        life = min(token.expiration_seconds for token in wanted)
        renew = times.now() + datetime.timedelta(seconds=life * _RENEW_AT)
        metadata = self._context.target.metadata(pod, name=volumes.token_secret_name(pod))
        metadata["labels"][labels.PURPOSE] = _PURPOSE
        metadata["annotations"] |= {labels.RENEW_AFTER: times.write(renew), labels.TOKEN_NODE: _node(pod)}
        metadata["ownerReferences"] = self._find_owners(pod) or metadata["ownerReferences"]
        data = {token.key: base64.b64encode(value.encode()).decode() for token, value in zip(wanted, answers, strict=True)}
        desired = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        secret = self._secret(pod)
        # Renewed tokens are about as long as the old ones, without which the pod would fail.
        if secret is None and (message := limits.find_excess_of_data(self._bytes.value, None, desired)):
            raise Forbidden(403, "Forbidden", message)
        await self._writer.write(secret, desired)
        return life * _RENEW_AT

    async def _request(self, pod: Object, token: Token) -> str:
        meta = pod["metadata"]
        spec: Object = {
            "expirationSeconds": token.expiration_seconds,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]},
        }
        if token.audience:
            spec["audiences"] = [token.audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        body["metadata"] = {"namespace": meta["namespace"]}
        account = pod["spec"].get("serviceAccountName") or "default"
        answer = await self._context.nested.create(kinds.SERVICE_ACCOUNT, body, subresource="token", name=account)
        return str(answer["status"]["token"])

    def _find_owners(self, pod: Object) -> list[Object]:
        """The host pod, if no other one will ever mount the Secret: a nested pod that has a node gets no second host pod."""
        host = self._context.caches.host_by_uid.get(pod["metadata"]["uid"])
        if host is None or not _node(pod) or is_terminating(host):
            return []
        return [owner_reference("v1", kinds.POD.name, host["metadata"]["name"], host["metadata"]["uid"])]

    async def _remove(self, uid: str) -> None:
        if self._context.caches.host_by_uid.get(uid) is not None:
            return  # it is deleted first, and its event queues the UID again
        for secret in self._by_uid.all(uid):
            # Otherwise the garbage collector removes it with its host pod.
            if [owner["kind"] for owner in secret["metadata"].get("ownerReferences") or []] != [kinds.POD.name]:
                await self._writer.remove(secret)

    def _secret(self, pod: Object) -> Object | None:
        name = volumes.token_secret_name(pod)
        return self._context.caches.host(kinds.SECRET).get(name, self._context.target.namespace)


def _pod_uid(secret: Object) -> str | None:
    """UID of the pod whose tokens a Secret holds; None for other Secrets."""
    return nested_uid(secret) if labels_of(secret).get(labels.PURPOSE) == _PURPOSE else None


def _due(secret: Object | None, pod: Object) -> float:
    """Seconds until the tokens in the pod's Secret must be renewed; zero or less if they are due."""
    annotations = annotations_of(secret)
    text = annotations.get(labels.RENEW_AFTER)
    if not text or annotations.get(labels.TOKEN_NODE, "") != _node(pod):
        return 0
    return -times.seconds_since(text)


def _node(pod: Object) -> str:
    return pod["spec"].get("nodeName") or ""
