"""Assembles small images without an image builder: files in, an OCI archive out; the same files give the same bytes.

Layout of the archive: https://github.com/opencontainers/image-spec/blob/main/image-layout.md
"""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
"""Not compressed: images never leave the machine, and compressing takes longer than anything else here."""
ARCHITECTURE = "amd64"


@dataclass(frozen=True)
class Entry:
    """One path in a layer: a file (`source` or `content`), a link (`link`), or else a directory."""

    path: str
    source: Path | None = None
    content: bytes | None = None
    link: str = ""
    mode: int = 0o755
    owner: int = 0


@dataclass(frozen=True)
class Layer:
    """Files of one layer, or a whole tar that exists already (`tar`)."""

    entries: Sequence[Entry] = ()
    tar: Path | None = None


@dataclass(frozen=True)
class Image:
    """What an image is made of."""

    reference: str
    layers: Sequence[Layer]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    environment: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    labels: dict[str, str] = field(default_factory=dict)
    working_directory: str = ""
    user: str = ""


@dataclass(frozen=True)
class _Blob:
    file: BinaryIO
    digest: str
    size: int

    def descriptor(self, media_type: str) -> dict[str, object]:
        return {"mediaType": media_type, "digest": self.digest, "size": self.size}


def write(image: Image, archive: Path) -> None:
    """Write the image as an OCI archive; the file appears when it is whole."""
    layers = [_layer_blob(layer) for layer in image.layers]
    config = _json_blob(_config(image, [layer.digest for layer in layers]))
    manifest = _json_blob(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(CONFIG),
            "layers": [layer.descriptor(LAYER) for layer in layers],
        }
    )
    _write_archive(archive, image.reference, manifest, [*layers, config])


def pack(folder: Path, reference: str, archive: Path) -> None:
    """Make an OCI archive of a folder with `manifest.json` and blobs named by their digest (buildah's `dir:` format)."""
    raw = (folder / "manifest.json").read_bytes()
    content = json.loads(raw)
    blobs = [
        _Blob((folder / descriptor["digest"].removeprefix("sha256:")).open("rb"), descriptor["digest"], descriptor["size"])
        for descriptor in (content["config"], *content["layers"])
    ]
    _write_archive(archive, reference, _blob(io.BytesIO(raw)), blobs)


def _write_archive(archive: Path, reference: str, manifest: _Blob, blobs: Sequence[_Blob]) -> None:
    """Write to a file beside, so that the archive appears when it is whole."""
    names = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [{**manifest.descriptor(MANIFEST), "annotations": names}]}
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f".{archive.name}.new")
    with tarfile.open(fresh, "w") as tar:
        _add_bytes(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add_bytes(tar, "index.json", json.dumps(index).encode())
        for blob in {blob.digest: blob for blob in (*blobs, manifest)}.values():
            _add(tar, _info(f"blobs/sha256/{blob.digest.removeprefix('sha256:')}", 0o644), blob.size, blob.file)
            blob.file.close()
    fresh.replace(archive)


def _config(image: Image, layer_digests: list[str]) -> dict[str, object]:
    settings: dict[str, object] = {"Env": [f"{name}={value}" for name, value in image.environment.items()]}
    for name, value in (("Entrypoint", list(image.entrypoint)), ("Cmd", list(image.command)), ("Labels", image.labels)):
        if value:
            settings[name] = value
    for name, text in (("WorkingDir", image.working_directory), ("User", image.user)):
        if text:
            settings[name] = text
    return {
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": layer_digests},
        "history": [{"created_by": "devcluster.build"} for _ in layer_digests],
    }


def _layer_blob(layer: Layer) -> _Blob:
    if layer.tar:
        return _blob(layer.tar.open("rb"))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the blob
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry in _with_parents(layer.entries):
            _add_entry(tar, entry)
    return _blob(file)


def _with_parents(entries: Sequence[Entry]) -> list[Entry]:
    """Every directory on the way, before what is in it: containerd would make missing ones with its own umask."""
    found: dict[str, Entry] = {}
    for entry in entries:
        path = entry.path.strip("/")
        for parent in list(Path(path).parents)[:-1]:
            found.setdefault(str(parent), Entry(str(parent)))
        found[path] = entry
    return [found[path] for path in sorted(found)]


def _add_entry(tar: tarfile.TarFile, entry: Entry) -> None:
    info = _info(entry.path.strip("/"), entry.mode, entry.owner)
    if entry.source:
        with entry.source.open("rb") as file:
            _add(tar, info, entry.source.stat().st_size, file)
    elif entry.content is not None:
        _add(tar, info, len(entry.content), io.BytesIO(entry.content))
    else:
        info.type = tarfile.SYMTYPE if entry.link else tarfile.DIRTYPE
        info.linkname = entry.link
        tar.addfile(info)


def _info(path: str, mode: int, owner: int = 0) -> tarfile.TarInfo:
    """Nothing of this machine or moment: no names, no times."""
    info = tarfile.TarInfo(path)
    info.mode, info.uid, info.gid = mode, owner, owner
    return info


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, size: int, file: BinaryIO) -> None:
    info.size = size
    file.seek(0)
    tar.addfile(info, file)


def _add_bytes(tar: tarfile.TarFile, path: str, content: bytes) -> None:
    _add(tar, _info(path, 0o644), len(content), io.BytesIO(content))


def _json_blob(value: object) -> _Blob:
    return _blob(io.BytesIO(json.dumps(value, sort_keys=True).encode()))


def _blob(file: BinaryIO) -> _Blob:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return _Blob(file, f"sha256:{digest}", file.seek(0, io.SEEK_END))


def fingerprint(image: Image) -> str:
    """Changes when the image would: files by their real path (in the cache it holds their key) and size, the rest by content."""
    layers = [[_entry_fingerprint(entry) for entry in _with_parents(layer.entries)] for layer in image.layers]
    return json.dumps([_config(image, []), image.reference, layers], sort_keys=True)


def _entry_fingerprint(entry: Entry) -> list[object]:
    content = entry.content.decode() if entry.content is not None else None
    source = entry.source.resolve() if entry.source else None
    size = source.stat().st_size if source else 0
    return [entry.path, str(source), size, content, entry.link, entry.mode, entry.owner]
