"""Who trusts whom."""

import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from devcluster.cluster import pki


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return pki.files()


def certificate(files: dict[str, bytes], name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(files[f"{name}.crt"])


def test_clients_cannot_serve(files: dict[str, bytes]) -> None:
    usage = certificate(files, "admin").extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_only_the_owner_reads_the_files(tmp_path: Path) -> None:
    pki.write(tmp_path / "pki")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "pki").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700
