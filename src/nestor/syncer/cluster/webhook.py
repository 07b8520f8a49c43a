"""The webhook by which the nested API server asks about new Services: its server on loopback, and its configuration.

It must never be in the way. While this process is down, the API server's call is refused at once, and ignored. Admins of the
nested cluster may change or delete the configuration, and call here themselves: that gains them nothing that they may not have
anyway, within the same limits.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import h11

from nestor.api import labels
from nestor.contracts.cluster import KUBELET_CERTIFICATE, KUBELET_KEY
from nestor.kube import Api, ApiError, kinds
from nestor.kubelet.connections import Connections
from nestor.objects import Object
from nestor.providers.pipe import close

log = logging.getLogger(__name__)

NAME = "nestor-services"
TIMEOUT_SECONDS = 5
"""Longer than we ever take, in whole seconds."""
_PATH = "/services"
_CHECK_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_IDLE_SECONDS = 300.0
"""Between two requests. The API server keeps idle connections for 90."""
_CHUNK = 2**16
_BODY_LIMIT = 4 * 2**20
"""Bytes of a request: two versions of an object, which etcd limits to 1.5 MiB each."""
_BODIES_LIMIT = 32 * 2**20
"""Bytes of all requests that are being read or answered."""
_BODY_SECONDS = 10.0

Review = Callable[[Object], Awaitable[Object]]
"""From an AdmissionReview to its answer."""


async def serve(port: int, access: Path, review: Review) -> None:
    """Answer until cancelled. A caller keeps its connection for as many reviews as it likes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(access / KUBELET_CERTIFICATE, access / KUBELET_KEY)
    await Connections(partial(_converse, review, _Load())).serve(port, context, "127.0.0.1")


@dataclass
class _Load:
    """What callers take up together: not only the API server may call."""

    body_bytes: int = 0


async def _converse(review: Review, load: _Load, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    connection, taken = h11.Connection(h11.SERVER), 0

    def take(size: int) -> None:
        nonlocal taken
        if load.body_bytes + size > _BODIES_LIMIT:
            raise OSError("too many bytes are being read already")
        taken += size
        load.body_bytes += size

    try:
        while (found := await _read(connection, reader, take)) is not None:
            request, body = found
            status, text = await _answer(request, body, review)
            headers = [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=text), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()
            load.body_bytes -= taken
            taken = 0
    except (OSError, TimeoutError, h11.ProtocolError) as error:
        log.debug("webhook for Services: %s", error)
    except Exception:
        log.exception("webhook for Services: a request failed")
    finally:
        load.body_bytes -= taken
        await close(writer)


async def _read(
    connection: h11.Connection, reader: asyncio.StreamReader, take: Callable[[int], None]
) -> tuple[h11.Request, bytes] | None:
    """The next request and its body; None if the caller hung up. Of a body that is too large, a part.

    `take` is told of each part of the body, and may raise `OSError`.
    """
    request, body = None, bytearray()
    async with asyncio.timeout(_IDLE_SECONDS) as limit:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    return None
                connection.receive_data(await reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                request = event
                limit.reschedule(asyncio.get_running_loop().time() + _BODY_SECONDS)
            elif isinstance(event, h11.Data):
                take(len(event.data))
                body += event.data
            if len(body) > _BODY_LIMIT or isinstance(event, h11.EndOfMessage):
                return (request, bytes(body)) if request else None
            if isinstance(event, h11.ConnectionClosed):
                return None


async def _answer(request: h11.Request, body: bytes, review: Review) -> tuple[int, bytes]:
    if request.target.partition(b"?")[0] != _PATH.encode():
        return 404, b"{}"
    if request.method != b"POST" or len(body) > _BODY_LIMIT:
        return 405 if request.method != b"POST" else 413, b"{}"
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        return 400, b'"not an AdmissionReview"'
    return 200, json.dumps(await review(content)).encode()


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
