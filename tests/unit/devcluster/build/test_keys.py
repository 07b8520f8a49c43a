"""Keys: what they depend on, and what they do not."""

from pathlib import Path

import pytest

from devcluster.build import keys


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "__pycache__").mkdir(parents=True)
    (tmp_path / "src" / "a.go").write_text("a")
    (tmp_path / "src" / "a_test.go").write_text("t")
    (tmp_path / "src" / "__pycache__" / "a.pyc").write_text("c")
    (tmp_path / "go.mod").write_text("m")
    return tmp_path


def key_of(tree: Path) -> str:
    return keys.file_key(tree, keys.files_below(tree, "**/*"))


def test_the_key_is_stable_and_follows_content_names_and_permissions(tree: Path) -> None:
    first = key_of(tree)
    assert first == key_of(tree)
    assert len(first) == keys.LENGTH
    seen = {first}
    (tree / "src" / "a.go").write_text("b")
    seen.add(key_of(tree))
    (tree / "src" / "a.go").rename(tree / "src" / "b.go")
    seen.add(key_of(tree))
    (tree / "src" / "b.go").chmod(0o755)
    seen.add(key_of(tree))
    assert len(seen) == 4


def test_caches_and_tests_do_not_count(tree: Path) -> None:
    before = key_of(tree)
    (tree / "src" / "a_test.go").write_text("changed")
    (tree / "src" / "__pycache__" / "b.pyc").write_text("new")
    assert key_of(tree) == before
