"""The webhook by which the nested API server asks about new Services: its server on loopback, and its configuration.

It must never be in the way. While this process is down, the API server's call is refused at once, and ignored. Admins of the
nested cluster may change or delete the configuration, and call here themselves: that gains them nothing that they may not have
anyway, within the same limits.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from nestor.api import labels
from nestor.contracts.cluster import KUBELET_CERTIFICATE, KUBELET_KEY
from nestor.kube import Api, ApiError, kinds
from nestor.objects import Object

log = logging.getLogger(__name__)

NAME = "nestor-services"
TIMEOUT_SECONDS = 5
"""Longer than we ever take, in whole seconds."""
_PATH = "/services"
_CHECK_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_BODY_LIMIT = 4 * 2**20
"""Bytes of a request: two versions of an object, which etcd limits to 1.5 MiB each."""


async def serve(port: int, access: Path, review: Callable[[Object], Awaitable[Object]]) -> None:
    """Answer until cancelled."""

    async def answer(request: web.Request) -> web.Response:
        try:
            body = await request.json()
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return web.Response(status=400, text="not an AdmissionReview")
        return web.json_response(await review(body))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(access / KUBELET_CERTIFICATE, access / KUBELET_KEY)
    app = web.Application(client_max_size=_BODY_LIMIT)
    app.router.add_post(_PATH, answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def keep_configuration(nested: Api, access: Path, port: int) -> None:
    """Have the nested API server call us, and again after a tenant changed or deleted the configuration, until cancelled."""
    body = build_configuration(port, read_certificate(access))
    while True:
        try:
            await nested.apply(kinds.MUTATING_WEBHOOK, body)
            delay = _CHECK_SECONDS
        except ApiError as error:
            log.info("cannot set up the webhook for Services, retrying: %s", error)
            delay = _RETRY_SECONDS
        await asyncio.sleep(delay)


def read_certificate(access: Path) -> bytes:
    """The only certificate that the API server is to accept: the one that this process serves with, and restarts to renew."""
    return (access / KUBELET_CERTIFICATE).read_bytes()


def build_configuration(port: int, certificate: bytes) -> Object:
    """The MutatingWebhookConfiguration. `certificate`: ours, PEM."""
    authority = base64.b64encode(certificate).decode()
    webhook: Object = {
        "name": "services.nestor.dev",
        "clientConfig": {"url": f"https://127.0.0.1:{port}{_PATH}", "caBundle": authority},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["services"],
                "scope": "Namespaced",
            }
        ],
        # An update gives a Service an address only if it had none.
        "matchConditions": [
            {"name": "gets-an-address", "expression": "request.operation == 'CREATE' || oldObject.spec.type == 'ExternalName'"}
        ],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": NAME, "labels": {labels.MANAGED_BY: "nestor"}}, "webhooks": [webhook]}
