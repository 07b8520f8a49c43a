from pathlib import Path

import pytest

from nestor.apps.runner import kustomize
from nestor.apps.runner.attempt import StepError


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(text)
    return folder


def test_local_folders_and_files_are_nothing_remote(tmp_path: Path) -> None:
    write(tmp_path / "base", "resources: [web.yaml]\n")
    (tmp_path / "base" / "web.yaml").touch()
    overlay = write(
        tmp_path / "overlay",
        """
resources: [../base]
namePrefix: https://
commonAnnotations: {docs: https://docs.example.com/x, mail: git@example.com:x/y}
images: [{name: web, newName: registry.example.com/web}]
configMapGenerator: [{name: a, files: [index.html=local.html], literals: [url=https://example.com/]}]
patches: [{patch: "see https://example.com/"}]
""",
    )
    assert kustomize.find_remote(overlay) == []


@pytest.mark.parametrize(
    ("reference", "host"),
    [
        ("https://github.com/org/repo//base?ref=v1", "github.com"),
        ("https://me:secret@example.com/manifest.yaml", "example.com"),
        ("github.com/org/repo//base", "github.com"),
        ("git@github.com:org/repo//base", "github.com"),
        ("ssh://git@example.com:2222/org/repo", "example.com"),
        ("git::https://example.com/repo.git", "example.com"),
        ("http://[::1]:8080/x.yaml", "::1"),
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("file:///etc/nestor", ""),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "resources: ['{}']",
        "components: ['{}']",
        "patches: [{{path: '{}'}}]",
        "configMapGenerator: [{{name: a, files: ['a={}']}}]",
        "generators: ['{}']",
    ],
)
def test_what_would_be_fetched_is_found_with_its_host(tmp_path: Path, form: str, reference: str, host: str) -> None:
    folder = write(tmp_path / "x", form.format(reference))
    assert (reference, host) in kustomize.find_remote(folder)


def test_it_is_found_through_included_folders_even_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path / "a", "resources: [../b]\n")
    write(tmp_path / "b", "resources: [../c, ../a]\n")
    write(tmp_path / "c", "bases: [https://example.com/base]\n")
    assert kustomize.find_remote(tmp_path / "a") == [("https://example.com/base", "example.com")]


@pytest.mark.parametrize("text", [b"a: [", b"\tresources: []", b"a: b\n---\nc: d\n", b"\x00", b"[" * 5000, b"\xff\xfe"])
def test_what_is_no_yaml_is_told(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "kustomization.yaml").write_bytes(text)
    with pytest.raises(StepError, match="is not YAML"):
        kustomize.find_remote(tmp_path)


def test_a_bomb_does_not_go_off(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert kustomize.find_remote(write(tmp_path / "x", "\n".join(lines))) == []


def test_an_endless_kustomization_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="is larger than"):
        kustomize.find_remote(write(tmp_path / "x", "#" * 2_000_000))
