"""The backend's own certificates: a CA, its server certificate, and one for clients. Kept over restarts."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster.certificates import Authority


@dataclass(frozen=True)
class Pki:
    """The files, all PEM."""

    folder: Path

    @property
    def ca(self) -> Path:
        """What clients trust."""
        return self.folder / "ca.crt"

    def ensure(self, hosts: Sequence[str]) -> None:
        """Make the files unless they are there."""
        if self.ca.exists():
            return
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        authority = Authority("interlink-plugin-ca")
        pairs = {"server": authority.server("interlink-plugin", hosts), "client": authority.client("nestor")}
        for name, pair in pairs.items():
            (self.folder / f"{name}.crt").write_bytes(pair.certificate)
            (self.folder / f"{name}.key").touch(mode=0o600)
            (self.folder / f"{name}.key").write_bytes(pair.key)
        self.ca.write_bytes(authority.pair.certificate)

    def server_context(self) -> ssl.SSLContext:
        """TLS for a server that lets in only who has a certificate of the CA."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.ca))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self.folder / "server.crt", self.folder / "server.key")
        return context

    def client_context(self) -> ssl.SSLContext:
        """TLS for a client with the certificate that is let in."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.folder / "client.crt", self.folder / "client.key")
        return context
