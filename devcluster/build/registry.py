"""Puts OCI archives into a registry that speaks plain HTTP; what is there already is not sent again.

The protocol: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""

import http.client
import json
import tarfile
import urllib.parse
from pathlib import Path
from typing import IO, Any

from devcluster.build import oci
from devcluster.build.commands import BuildError
from devcluster.build.references import Reference

TIMEOUT_SECONDS = 60


class Registry:
    """One registry, `host:port`."""

    def __init__(self, address: str) -> None:
        self._address = urllib.parse.urlsplit(address).netloc if "://" in address else address

    def push(self, archive: Path, reference: Reference) -> bool:
        """Have the archive's image under the reference's repository and tag; False when it was there."""
        with tarfile.open(archive) as tar:
            manifest_digest = _read_json(tar, "index.json")["manifests"][0]["digest"]
            if self._tag_digest(reference) == manifest_digest:
                return False
            raw = _blob(tar, manifest_digest).read()
            manifest = json.loads(raw)
            for descriptor in (manifest["config"], *manifest["layers"]):
                if not self._has_blob(reference, descriptor["digest"]):
                    self._upload(reference, descriptor, _blob(tar, descriptor["digest"]))
            self._put_manifest(reference, raw, manifest.get("mediaType", oci.MANIFEST))
        return True

    def _tag_digest(self, reference: Reference) -> str | None:
        path = f"/v2/{reference.repository}/manifests/{reference.tag}"
        status, headers = self._request("HEAD", path, headers={"Accept": oci.MANIFEST})
        return headers.get("Docker-Content-Digest") if status == http.HTTPStatus.OK else None

    def _has_blob(self, reference: Reference, digest: str) -> bool:
        status, _ = self._request("HEAD", f"/v2/{reference.repository}/blobs/{digest}")
        return status == http.HTTPStatus.OK

    def _upload(self, reference: Reference, descriptor: dict[str, Any], content: IO[bytes]) -> None:
        status, headers = self._request("POST", f"/v2/{reference.repository}/blobs/uploads/", headers={"Content-Length": "0"})
        self._expect(status, http.HTTPStatus.ACCEPTED, reference)
        location = urllib.parse.urlsplit(headers["Location"])
        query = f"{location.query}&" if location.query else ""
        target = f"{location.path}?{query}digest={urllib.parse.quote(descriptor['digest'])}"
        sent = {"Content-Type": "application/octet-stream", "Content-Length": str(descriptor["size"])}
        status, _ = self._request("PUT", target, content, sent)
        self._expect(status, http.HTTPStatus.CREATED, reference)

    def _put_manifest(self, reference: Reference, raw: bytes, media_type: str) -> None:
        path = f"/v2/{reference.repository}/manifests/{reference.tag}"
        status, _ = self._request("PUT", path, raw, {"Content-Type": media_type})
        self._expect(status, http.HTTPStatus.CREATED, reference)

    def _request(
        self, method: str, path: str, body: bytes | IO[bytes] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS, blocksize=1 << 20)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            response.read()
            return response.status, response.headers
        except OSError as error:
            raise BuildError(f"the registry at {self._address} does not answer: {error}") from error
        finally:
            connection.close()

    def _expect(self, status: int, wanted: int, reference: Reference) -> None:
        if status != wanted:
            raise BuildError(f"the registry at {self._address} answered {status} instead of {wanted} to a push of {reference}")


def _blob(tar: tarfile.TarFile, digest: str) -> IO[bytes]:
    return _member(tar, f"blobs/{digest.replace(':', '/')}")


def _read_json(tar: tarfile.TarFile, path: str) -> Any:
    return json.load(_member(tar, path))


def _member(tar: tarfile.TarFile, path: str) -> IO[bytes]:
    file = tar.extractfile(path)
    if file is None:
        raise BuildError(f"not an OCI archive: '{path}' is not a file")
    return file
