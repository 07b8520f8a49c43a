"""Where the activator sends browsers."""

import pytest

from nestor.clients.activator import find_location


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/", "/"),
        ("/a/b?c=//d", "/a/b?c=//d"),
        ("//evil.example.com/a", "/.//evil.example.com/a"),
        ("/\\evil.example.com", "/./\\evil.example.com"),
        ("http://evil.example.com/", "/"),
        ("*", "/"),
    ],
)
def test_nobody_is_sent_to_another_host(path: str, location: str) -> None:
    assert find_location(path) == location
