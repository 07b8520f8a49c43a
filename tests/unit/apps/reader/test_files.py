"""Links of an image lead where they would lead inside of it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from nestor.apps.reader import follow


@pytest.mark.parametrize(
    ("links", "path", "expected"),
    [
        ({}, "etc/NAE/a", "etc/NAE/a"),
        ({"etc/NAE": "/opt/nae"}, "etc/NAE/a", "opt/nae/a"),
        ({"etc/NAE": "../opt/./nae//"}, "etc/NAE/a", "opt/nae/a"),
        ({"etc/NAE/a": "b", "etc/NAE/b": "/c"}, "etc/NAE/a", "c"),
        ({"etc/NAE/a": "/../../../etc/passwd"}, "etc/NAE/a", "etc/passwd"),
    ],
)
def test_links_stay_inside(tmp_path: Path, links: dict[str, str], path: str, expected: str) -> None:
    for name, target in links.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(target)
    assert follow(tmp_path, path) == tmp_path / expected


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as raised:
        follow(tmp_path, "a/c")
    assert raised.value.errno == errno.ELOOP
