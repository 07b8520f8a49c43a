"""Images assembled from files."""

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


def test_the_same_files_give_the_same_bytes_whatever_their_times(program: Path, tmp_path: Path) -> None:
    oci.write(image(program), tmp_path / "one.tar")
    program.touch()
    oci.write(image(program), tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"program", "one.tar", "two.tar"}


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
