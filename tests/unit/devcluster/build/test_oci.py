"""Images assembled from files."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from devcluster.build import oci
from devcluster.build.oci import Entry, Image, Layer

REFERENCE = "docker.io/library/thing:1"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"binary")
    return path


def image(program: Path, **changes: Any) -> Image:
    entries = [Entry("bin/program", program), Entry("bin/alias", link="/bin/program"), Entry("tmp", mode=0o1777)]
    settings: dict[str, Any] = {"reference": REFERENCE, "layers": [Layer(entries)], "entrypoint": ["/bin/program"], **changes}
    return Image(**settings)


def unpack(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: file.read() for member in tar if (file := tar.extractfile(member))}


def manifest_of(files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    index = json.loads(files["index.json"])
    manifest = json.loads(files[f"blobs/{index['manifests'][0]['digest'].replace(':', '/')}"])
    return manifest, json.loads(files[f"blobs/{manifest['config']['digest'].replace(':', '/')}"])


def test_every_blob_has_the_digest_and_size_that_its_descriptor_says(program: Path, tmp_path: Path) -> None:
    oci.write(image(program), tmp_path / "image.tar")
    files = unpack(tmp_path / "image.tar")
    manifest, config = manifest_of(files)
    for descriptor in (manifest["config"], *manifest["layers"]):
        blob = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
        assert descriptor["digest"] == f"sha256:{hashlib.sha256(blob).hexdigest()}"
        assert descriptor["size"] == len(blob)
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    assert config["config"]["Entrypoint"] == ["/bin/program"]
    assert "Cmd" not in config["config"]


def test_the_same_files_give_the_same_bytes_whatever_their_times(program: Path, tmp_path: Path) -> None:
    oci.write(image(program), tmp_path / "one.tar")
    program.touch()
    oci.write(image(program), tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"program", "one.tar", "two.tar"}


def test_layers_hold_parents_links_and_modes(program: Path, tmp_path: Path) -> None:
    oci.write(image(program), tmp_path / "image.tar")
    files = unpack(tmp_path / "image.tar")
    manifest, _ = manifest_of(files)
    layer = files[f"blobs/{manifest['layers'][0]['digest'].replace(':', '/')}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        members = {member.name: member for member in tar}
    assert list(members) == ["bin", "bin/alias", "bin/program", "tmp"]
    assert members["bin"].isdir()
    assert members["bin/alias"].linkname == "/bin/program"
    assert members["tmp"].mode == 0o1777
    assert {(member.uid, member.mtime) for member in members.values()} == {(0, 0)}


def test_the_fingerprint_follows_everything_that_the_image_is_made_of(program: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"binary")
    fingerprints = {
        oci.fingerprint(image(program)),
        oci.fingerprint(image(program, command=["x"])),
        oci.fingerprint(image(program, reference="docker.io/library/thing:2")),
        oci.fingerprint(image(other)),
        oci.fingerprint(image(program, layers=[Layer([Entry("etc/passwd", content=b"root")])])),
    }
    assert len(fingerprints) == 5
    assert oci.fingerprint(image(program)) in fingerprints
