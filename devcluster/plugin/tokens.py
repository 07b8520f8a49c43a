"""An OIDC provider's smallest part: bearer tokens for client credentials (RFC 6749, section 4.4)."""

import base64
import hmac
import secrets
import time
from pathlib import Path
from urllib.parse import unquote

from aiohttp import web

from devcluster.plugin.switches import Switchboard


class Tokens:
    """Issues and checks tokens: issue time, end, and their signature by a key that survives a restart."""

    def __init__(self, board: Switchboard, file: Path) -> None:
        self._board = board
        if not file.exists():
            file.touch(mode=0o600)
            file.write_bytes(secrets.token_bytes(32))
        self._key = file.read_bytes()

    def add_routes(self, app: web.Application) -> None:
        """Serve `/token` and the page that tells where it is."""
        app.router.add_post("/token", self._issue)
        app.router.add_get("/.well-known/openid-configuration", self._describe)

    def are_in(self, request: web.Request) -> bool:
        """Whether a request carries a valid token."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_valid(token, time.time())

    def new(self, now: float) -> str:
        """A token that is good from `now` on."""
        content = f"{now:.3f}-{now + self._board.now.token_seconds:.3f}"
        return f"{content}-{self._sign(content)}"

    def is_valid(self, token: str, now: float) -> bool:
        """Whether a token is one of ours, or one of the switches', and good at `now`."""
        if token in self._board.now.tokens:
            return True
        content, _, signature = token.rpartition("-")
        if not hmac.compare_digest(signature.encode(), self._sign(content).encode()):
            return False
        issued, _, end = content.partition("-")
        return float(issued) >= self._board.now.not_before and now < float(end)

    async def _issue(self, request: web.Request) -> web.Response:
        form = await request.post()
        if form.get("grant_type") != "client_credentials":
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        client = _basic(request) or (str(form.get("client_id")), str(form.get("client_secret")))
        if client != (self._board.now.client_id, self._board.now.client_secret):
            return web.json_response({"error": "invalid_client"}, status=401)
        answer = {"access_token": self.new(time.time()), "token_type": "Bearer", "expires_in": int(self._board.now.token_seconds)}
        return web.json_response(answer, headers={"Cache-Control": "no-store"})

    async def _describe(self, request: web.Request) -> web.Response:
        issuer = f"{request.scheme}://{request.host}"
        return web.json_response(
            {
                "issuer": issuer,
                "token_endpoint": f"{issuer}/token",
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            }
        )

    def _sign(self, content: str) -> str:
        return hmac.digest(self._key, content.encode(), "sha256").hex()


def _basic(request: web.Request) -> tuple[str, str] | None:
    """Client and secret from a Basic header, in which both are percent-encoded (RFC 6749, section 2.3.1)."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, secret = base64.b64decode(encoded).decode().partition(":")
    except ValueError:
        return None
    return unquote(name), unquote(secret)
