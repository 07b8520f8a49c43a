"""Which seed fits an image of K3s."""

from __future__ import annotations

import pytest

from nestor.api.contracts import syncer
from nestor.cluster.seed import find_seed


@pytest.mark.parametrize(
    ("image", "seed"),
    [
        ("docker.io/rancher/k3s:v1.36.3-k3s1", "v1.36.3"),
        ("registry.test:5000/k3s:v1.36.3", "v1.36.3"),
        ("docker.io/rancher/k3s:v1.36.3-k3s2@sha256:0123abcd", "v1.36.3"),
        ("docker.io/rancher/k3s:v1.36.4-k3s1", ""),
        ("docker.io/rancher/k3s:v1.36.30-k3s1", ""),
        ("docker.io/rancher/k3s:v1.36", ""),
        ("docker.io/rancher/k3s:latest", ""),
        ("docker.io/rancher/k3s@sha256:0123abcd", ""),
        ("registry.test/k3s:v1.36.3/mirror", ""),
    ],
)
def test_a_seed_is_for_images_of_its_very_version(image: str, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncer, "SEEDS", ("v1.36.2", "v1.36.3"))
    assert find_seed(image) == seed
