"""Which known key somebody may have meant."""

import pytest

from nestor.api.appdef_keys import find_nearest

KNOWN = ["retry", "retry_sleep", "timeout_seconds", "service_port", "global_retry", "global_retry_sleep"]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("retrys", "retry"),
        ("Retry", "retry"),
        ("retries_sleep", "retry_sleep"),
        ("timeoutSeconds", "timeout_seconds"),
        ("timeout-seconds", "timeout_seconds"),
        ("global_retries", "global_retry"),
        ("timeout", "timeout_seconds"),
        ("port", "service_port"),
        ("rt", None),
        ("", None),
        ("zebra", None),
        ("retry" * 100, None),
        ("\ud800", None),
    ],
)
def test_the_nearest_key_is_found_or_none(key: str, nearest: str | None) -> None:
    assert find_nearest(key, KNOWN) == nearest
    assert find_nearest(key, [*KNOWN, *map(str, range(100))]) is None
