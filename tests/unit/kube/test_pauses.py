"""How long an informer waits after failures in a row."""

from __future__ import annotations

import pytest

from nestor.kube.informer import LONGEST_PAUSE_SECONDS, NEAR_PAUSE_SECONDS, find_longest_pause, find_pause


@pytest.mark.parametrize(
    ("failures", "longest", "expected"),
    [(1, 10, 0.2), (2, 10, 0.4), (6, 10, 6.4), (7, 10, 10), (1000, 10, 10), (1, 1, 0.2), (4, 1, 1), (1000, 1, 1)],
)
def test_pauses_double_up_to_the_longest_and_vary_by_a_third(failures: int, longest: float, expected: float) -> None:
    found = [find_pause(failures, longest) for _ in range(200)]
    assert all(0.7 * expected <= pause <= 1.3 * expected for pause in found)
    assert len(set(found)) > 1


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("https://127.0.0.1:6443", NEAR_PAUSE_SECONDS),
        ("https://127.8.9.10", NEAR_PAUSE_SECONDS),
        ("https://localhost:6443", NEAR_PAUSE_SECONDS),
        ("https://[::1]:6443", NEAR_PAUSE_SECONDS),
        ("https://10.43.0.1:443", LONGEST_PAUSE_SECONDS),
        ("https://[fd00::1]", LONGEST_PAUSE_SECONDS),
        ("https://kubernetes.default.svc", LONGEST_PAUSE_SECONDS),
        ("https://127.0.0.1.evil.test", LONGEST_PAUSE_SECONDS),
    ],
)
def test_a_server_beside_us_is_asked_more_often(server: str, expected: float) -> None:
    assert find_longest_pause(server) == expected
