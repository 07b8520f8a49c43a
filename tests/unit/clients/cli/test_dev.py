"""`nestor dev`: what has changed in a folder."""

from pathlib import Path

import pytest

from nestor.clients.cli.offline.changes import compare, read_stamps

A, B = "apiVersion: v1\nkind: A\nmetadata: {name: x}\n", "apiVersion: g/v1\nkind: B\nmetadata: {name: y, namespace: z}\n"
NEWER = B.replace("g/v1", "g/v2")


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("", f"{A}---\n{B}", "+A +B"),
        (f"{A}---\n{B}", "", "-B -A"),
        (A, A.replace("{name: x}", "{namespace: default, name: x}"), "~A"),
        (B, NEWER, "~B"),
        (B, B.replace("g/v1", "h/v1"), "+B -B"),
        (A, A.replace("x", "y"), "+A -A"),
        (A, f"# x\n{A}", ""),
        (f"{A}---\n{B}", f'{A}---\n{{"kind": "List", "items": []}}', "-B"),
    ],
)
def test_what_two_states_differ_in(before: str, after: str, changes: str) -> None:
    assert " ".join(f"{sign}{item['kind']}" for sign, item in compare(before, after)) == changes


def test_files_that_a_kustomization_names_elsewhere_are_looked_at(tmp_path: Path) -> None:
    texts = {
        "over/kustomization.yaml": "resources: [../base, ../one.yaml, https://example.test/x]\n",
        "over/files/a.txt": "a",
        "base/kustomization.yaml": "resources: [web.yaml, ../over]\n",
        "base/web.yaml": "kind: [",
        "one.yaml": "a",
        "other.yaml": "a",
        "over/.git/config": "a",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = read_stamps(tmp_path / "over")
    assert sorted(str(path.relative_to(tmp_path)) for path in before) == sorted({*texts} - {"other.yaml", "over/.git/config"})
    (tmp_path / "other.yaml").write_text("more")
    assert read_stamps(tmp_path / "over") == before
    (tmp_path / "base/web.yaml").write_text("kind: A")
    assert read_stamps(tmp_path / "over") != before
    (tmp_path / "over/kustomization.yaml").write_text("resources: [")
    assert tmp_path / "over/kustomization.yaml" in read_stamps(tmp_path / "over")
