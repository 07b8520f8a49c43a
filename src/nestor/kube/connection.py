"""How an API server is reached and recognized, and as whom: what any kubeconfig or service account comes to."""

import asyncio.sslproto
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nestor.kube.errors import Unreachable

asyncio.sslproto.SSLProtocol.max_size = 2**14
"""Bytes that asyncio holds for each TLS connection; a TLS record is not larger. Measured: a connection costs 50 KiB, and 290 by
asyncio's own choice. A syncer has one for every watch, some thirty.
"""

Pem = bytes | Path
"""PEM text, or a file that has it: a file is read anew whenever a context is built."""


@dataclass(frozen=True)
class Connection:
    """One API server, and one identity there."""

    server: str
    """Base URL, without a slash at its end."""
    authority: Pem | None = None
    """The authorities that its certificate may come from; the machine's own if None."""
    certificate: Pem | None = None
    key: Pem | None = None
    authorization: Callable[[], str] | None = None
    """What the header `Authorization` says; asked for each request. It must not wait; it may raise `OSError` or `ApiError`."""
    server_name: str | None = None
    """The name that its certificate must have, if it is not the URL's."""
    proxy: str | None = None
    """URL of the proxy to it; if None, what the environment says."""
    is_verified: bool = True
    person: tuple[tuple[str, str], ...] = ()
    """Headers that say in whose name we act, if not in our own."""

    def build_tls(self) -> ssl.SSLContext:
        """The TLS settings. Raises `Unreachable` if a file or certificate cannot be used."""
        given = self.authority
        try:
            authority = given.read_text() if isinstance(given, Path) else given.decode() if given is not None else None
            context = ssl.create_default_context(cadata=authority)
            if not self.is_verified:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.certificate is not None:
                with ExitStack() as stack:
                    certificate = stack.enter_context(_as_file(self.certificate))
                    key = stack.enter_context(_as_file(self.key)) if self.key is not None else None
                    context.load_cert_chain(certificate, key)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise Unreachable(f"the certificates for {self.server} cannot be used: {error}") from error
        return context


@contextmanager
def _as_file(content: Pem) -> Iterator[Path]:
    """Python's `ssl` reads certificates only from files. Ours is gone once it is read."""
    if isinstance(content, Path):
        yield content
        return
    with tempfile.NamedTemporaryFile(prefix="nestor-") as file:
        file.write(content)
        file.flush()
        yield Path(file.name)
