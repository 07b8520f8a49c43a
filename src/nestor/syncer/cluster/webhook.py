"""The webhook by which the nested API server asks about new Services: its server on loopback, and its configuration.

It must never be in the way. While this process is down, the API server's call is refused at once, and ignored. Admins of the
nested cluster may change or delete the configuration, and call here themselves: that gains them nothing that they may not have
anyway, within the same limits.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from nestor.api import labels
from nestor.api.contracts.cluster import KUBELET_CERTIFICATE
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, kinds
from nestor.kube.serving import http
from nestor.kube.serving.connections import Connections
from nestor.pods.kubelet import auth

log = logging.getLogger(__name__)

NAME = "nestor-services"
TIMEOUT_SECONDS = 5
"""Longer than we ever take, in whole seconds."""
_PATH = "/services"
_CHECK_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_BODY_LIMIT = 4 * 2**20
"""Bytes of a request: two versions of an object, which etcd limits to 1.5 MiB each."""
_BODIES_LIMIT = 32 * 2**20
"""Bytes of all requests that are being read or answered: not only the API server may call."""

Review = Callable[[Object], Awaitable[Object]]
"""From an AdmissionReview to its answer."""


async def serve(port: int, access: Path, review: Review) -> None:
    await Connections(Hook(review).answer, "webhook for Services").serve(port, auth.new_tls(access), "127.0.0.1")


class Hook:
    """Answers one review per connection."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._bytes = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await http.read_request(reader)
        if request is None:
            return
        size = request.body_size
        if request.path != [_PATH.removeprefix("/")]:
            await http.respond(writer, 404, "not found")
        elif request.method != "POST":
            await http.respond(writer, 405, "only POST")
        elif size is None or size > _BODY_LIMIT:
            await http.respond(writer, 411 if size is None else 413, f"at most {_BODY_LIMIT} bytes, announced by Content-Length")
        elif self._bytes + size > _BODIES_LIMIT:
            await http.respond(writer, 503, "too many bytes are being read already")
        else:
            self._bytes += size
            try:
                status, body = await self._judge(await http.read_body(request, reader))
                await http.respond(writer, status, body, kind="application/json")
            finally:
                self._bytes -= size

    async def _judge(self, body: bytes) -> tuple[int, str]:
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            return 400, '"not an AdmissionReview"'
        return 200, json.dumps(await self._review(content))


async def keep_configuration(nested: Api, access: Path, port: int) -> None:
    """Have the nested API server call us, and again after a tenant changed or deleted the configuration, until cancelled."""
    # The only certificate that the API server is to accept: the one that this process serves with, and restarts to renew.
    body = build_configuration(port, (access / KUBELET_CERTIFICATE).read_bytes())
    while True:
        try:
            await nested.apply(kinds.MUTATING_WEBHOOK, body)
            delay = _CHECK_SECONDS
        except ApiError as error:
            log.info("cannot set up the webhook for Services, retrying: %s", error)
            delay = _RETRY_SECONDS
        await asyncio.sleep(delay)


def build_configuration(port: int, certificate: bytes) -> Object:
    """The MutatingWebhookConfiguration. `certificate`: ours, PEM."""
    authority = base64.b64encode(certificate).decode()
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"]}
    webhook: Object = {
        "name": "services.nestor.dev",
        "clientConfig": {"url": f"https://127.0.0.1:{port}{_PATH}", "caBundle": authority},
        "rules": [rule | {"operations": ["CREATE"], "scope": "Namespaced"}],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": NAME, "labels": {labels.MANAGED_BY: "nestor"}}, "webhooks": [webhook]}
