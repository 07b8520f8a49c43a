"""The process ends when its certificates were renewed, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nestor.syncer.process import identity


@pytest.fixture
def access(tmp_path: Path) -> Path:
    """The folder of the access Secret."""
    for name in ("syncer.kubeconfig", "kubelet.crt", "kubelet.key", "client-ca.crt", "other"):
        (tmp_path / name).write_text("first")
    return tmp_path


def test_the_digest_is_of_the_credentials(access: Path) -> None:
    first = identity.read_digest(access)
    (access / "other").write_text("second")
    assert identity.read_digest(access) == first
    (access / "kubelet.crt").write_text("second")
    assert identity.read_digest(access) not in (first, None)


def test_what_is_not_complete_has_no_digest(access: Path) -> None:
    (access / "kubelet.key").unlink()
    assert identity.read_digest(access) is None


async def test_renewed_credentials_end_the_watch_once_they_are_complete(access: Path) -> None:
    first, renewed = identity.read_digest(access), access / "kubelet.key"
    happenings: list[Callable[[], object]] = [lambda: None, renewed.unlink, lambda: renewed.write_text("second")]

    async def sleep(seconds: float) -> None:
        assert seconds == identity.CHECK_SECONDS
        happenings.pop(0)()

    with pytest.raises(identity.Renewed):
        await identity.watch(access, first, sleep)
    assert happenings == []
