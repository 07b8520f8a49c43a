"""The commands of README.md and docs: each is right, and each is run by a test, or it is said why it cannot be.

Commands stand in blocks of the languages bash, sh and console. What they name must exist: options of `nestor` in its own parser,
resources and fields in the CustomResourceDefinitions, values in the chart's schema, files in the repository or on the page.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api.conditions import REASONS
from nestor.api.crd import RESOURCES
from tests.site import blocks, proofs
from tests.site.blocks import Block
from tests.site.checks import find_faults
from tests.site.checks.fields import find_unknown, has_path, schema_of, values_schema
from tests.site.shell import read_commands

ROOT = Path(__file__).parents[2]
BLOCKS = blocks.list_blocks()
COMMANDS = [
    (f"{block.page}:{block.line}", block.page, words)
    for block in BLOCKS
    if block.language in blocks.SHELLS
    for words in read_commands(block.text, block.language)
]
FILES: dict[str, set[str]] = defaultdict(set)
"""By page: the files that it has its reader make, and the folders that these are in."""
for _block in BLOCKS:
    if _block.title:
        FILES[_block.page] |= {_block.title, *(str(parent) for parent in Path(_block.title).parents)}
KINDS = {resource.kind for resource in RESOURCES}
SNIPPETS = [block for block in BLOCKS if block.language == "yaml"]
OF_OTHERS = {"Gateway", "Job"}
"""Kinds of which a page has a part; what it has as a whole also has an `apiVersion`."""
PARTS_OF_OTHERS = {
    "docs/batch.md": ({"podFailurePolicy"}, {"templates"}),
    "docs/overflow.md": ({"spec"},),
    "docs/queues.md": ({"integrations"},),
}
"""By page, the keys of what has no kind: of a Job, an Argo Workflow, a patch for a DaemonSet, Kueue's configuration."""


def name(found: Any) -> str:
    return (
        f"{found.page}:{found.line}"
        if isinstance(found, Block)
        else shlex.join(found[2])[:60]
        if isinstance(found, tuple)
        else ""
    )


def test_every_block_says_its_language() -> None:
    assert [f"{block.page}:{block.line}" for block in BLOCKS if not block.language] == [], "bash, console, yaml, text, …"
    assert len(COMMANDS) > 120


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_what_a_command_names_exists(command: tuple[str, str, list[str]]) -> None:
    place, page, words = command
    assert find_faults(words, FILES[page]) == [], f"{place}: {shlex.join(words)}"


@pytest.mark.parametrize("command", sorted(set(blocks.list_inline())), ids=lambda found: found[1][:60])
def test_what_a_command_in_a_sentence_names_exists(command: tuple[str, str]) -> None:
    page, text = command
    told = [fault for words in read_commands(text, "bash") for fault in find_faults(words, FILES[page])]
    # A sentence may leave out what its reader knows.
    assert [fault for fault in told if not re.search(r"is missing$|^there is no file", fault)] == [], f"{page}: {text}"


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_a_command_is_run_by_a_test_or_has_a_reason_not_to_be(command: tuple[str, str, list[str]]) -> None:
    place, page, words = command
    found = [proof for proof in proofs.PROOFS if proof.speaks_of(page, words)]
    assert found, f"{place}: no row of tests/site/proofs.py speaks of: {shlex.join(words)}"


@pytest.mark.parametrize("proof", proofs.PROOFS, ids=lambda proof: f"{proof.pages} {proof.pattern}"[:70])
def test_a_proof_speaks_of_a_command_and_its_test_is_there(proof: proofs.Proof) -> None:
    first = [next((row for row in proofs.PROOFS if row.speaks_of(page, words)), None) for _, page, words in COMMANDS]
    assert proof in first
    if proof.how == "NOT":
        assert len(proof.what) > 15
        return
    file, _, test = proof.what.partition("::")
    assert re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text(), re.MULTILINE), proof.what


def list_offline() -> list[tuple[str, list[str]]]:
    """The commands that `test_what_needs_no_cluster_works_as_the_page_says` runs."""
    found = []
    for _, page, words in COMMANDS:
        row = next(row for row in proofs.PROOFS if row.speaks_of(page, words))
        if row.what == proofs.OFFLINE:
            found.append((page, words))
    return found


@pytest.mark.parametrize(
    ("page", "words"), list_offline(), ids=lambda found: found if isinstance(found, str) else shlex.join(found)
)
def test_what_needs_no_cluster_works_as_the_page_says(page: str, words: list[str], tmp_path: Path) -> None:
    for block in BLOCKS:
        if block.page == page and block.title:
            file = tmp_path / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
    ended = subprocess.run(
        [sys.executable, "-m", "nestor", *words[1:]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "warning" not in ended.stderr
    assert ended.stdout


@pytest.mark.parametrize("block", SNIPPETS, ids=name)
def test_every_field_of_a_snippet_exists(block: Block) -> None:
    """What has a kind of ours has only fields that there are; what has none is part of a class, or values of the chart."""
    for document in yaml.safe_load_all(block.text):
        kind = document.get("kind")
        if kind in KINDS:
            assert list(find_unknown(document, schema_of(kind))) == []
        elif kind is None and document.keys() not in PARTS_OF_OTHERS.get(block.page, ()):
            schemas = [
                values_schema(),
                schema_of("NestedClass")["properties"]["spec"],
                schema_of("NestedAppJob"),
                schema_of("OverflowBackend"),
            ]
            assert [] in [list(find_unknown(document, schema)) for schema in schemas], document.keys()
        else:
            assert kind is None or "apiVersion" in document or kind in OF_OTHERS, kind


WORDS = {
    word
    for page in ("troubleshooting", "users", "admins", "app-authors")
    for word in re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`", (ROOT / f"docs/{page}.md").read_text())
}
SOURCE = "\n".join(file.read_text() for file in sorted((ROOT / "src" / "nestor").rglob("*.py")))


@pytest.mark.parametrize("word", sorted(WORDS))
def test_every_reason_event_and_kind_of_the_guides_exists(word: str) -> None:
    known = {str(reason) for reason in REASONS} | {"FailedScheduling", "ImagePullBackOff"}
    assert word in known or f'"{word}"' in SOURCE, word


FIELDS = {
    word
    for page in ("troubleshooting", "users", "admins", "app-authors")
    for word in re.findall(r"`([a-z][A-Za-z]+(?:\.[a-z][A-Za-z]+)+)`", (ROOT / f"docs/{page}.md").read_text())
} - {"user-roles.yaml", "hello.yaml", "parameters.REPLICAS", "class.yaml"}


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_every_field_of_the_guides_exists(field: str) -> None:
    parts = [
        schema_of(kind)["properties"][part]
        for kind in ("NestedClass", "NestedAppJob")
        for part in ("spec", "status")
        if part in schema_of(kind)["properties"]
    ]
    whole = [schema_of("NestedAppJob"), values_schema()]
    assert any(has_path(schema, field) for schema in (*parts, *whole)), field


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("make demo\nmake test", "bash", [["make", "demo"], ["make", "test"]]),
        ("$ nestor list\nNAME\n$ nestor status x", "console", [["nestor", "list"], ["nestor", "status", "x"]]),
        ("$ a \\\n> b\nout", "console", [["a", "b"]]),
        ("a \\\n  b", "bash", [["a", "b"]]),
        ("a && b | c; d", "bash", [["a"], ["b"], ["c"], ["d"]]),
        ("a > f < g 2>&1", "bash", [["a"]]),
        ("a  # it's a comment | b", "bash", [["a"]]),
        ("a '# no' \"#c\"", "bash", [["a", "# no", "#c"]]),
        ('if U=$(nestor run x); then\n  curl "$U"\nfi', "bash", [["nestor", "run", "x"], ["curl", "$U"]]),
        ("X=1 make y", "bash", [["make", "y"]]),
        ("a '{\"b\": 1}'", "sh", [["a", '{"b": 1}']]),
    ],
)
def test_commands_are_read(text: str, language: str, expected: list[list[str]]) -> None:
    assert read_commands(text, language) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nestor list -A", []),
        ("nestor -n a status b --follow", []),
        ("nestor exec b -- kubectl get pods -A", []),
        ("nestor lst", ["there is no command 'lst'"]),
        ("nestor list --every", ["list: No such option: --every"]),
        ("nestor status", ["status: `name` is missing"]),
        ("nestor status a b", ["status: too many arguments: b"]),
        ("nestor list -o xml", ["list: --output must be one of json, yaml, wide, name, not 'xml'"]),
        ("nestor validate no-such.yaml", ["there is no file 'no-such.yaml'"]),
        ("kubectl nestor lst", ["there is no command 'lst'"]),
        ("kubectl get naj,ncl -A", []),
        ("kubectl get naj/x", []),
        ("kubectl get nestedjobs", ["there is no kind 'nestedjobs', or the table of this check lacks it"]),
        ("kubectl fetch naj", ["kubectl has no verb 'fetch'"]),
        ("kubectl get naj --every", ["kubectl get has no option --every, or the table of this check lacks it"]),
        ("kubectl explain nclass.spec.expose.domain", []),
        ("kubectl explain nclass.spec.expose.domian", ["nclass has no field 'spec.expose.domian'"]),
        ("kubectl annotate naj x nestor.dev/rerun=1", []),
        ("kubectl annotate naj x nestor.dev/rerunn=1", ["there is no label or annotation 'nestor.dev/rerunn'"]),
        ("kubectl get naj x -o jsonpath='{.status.url}'", []),
        ("kubectl get naj x -o jsonpath='{.status.uri}'", ["NestedAppJob has no field '.status.uri'"]),
        ('kubectl patch naj x --type merge -p \'{"spec": {"suspend": true}}\'', []),
        ('kubectl patch naj x --type merge -p \'{"spec": {"suspended": true}}\'', ["NestedAppJob has no field 'spec.suspended'"]),
        ("kubectl apply -f no-such.yaml", ["there is no file 'no-such.yaml'"]),
        ("helm upgrade nestor charts/nestor --set operator.replicas=2,image.tag=x", []),
        ("helm upgrade nestor charts/nestor --set operator.replica=2", ["the chart has no value 'operator.replica'"]),
        ("helm upgrade nestor charts/nest", ["there is no chart 'charts/nest'"]),
        ("helm list --force", ["helm list has no option --force, or the table of this check lacks it"]),
        ("make demo CLUSTER=kind", []),
        ("make demos", ["there is no target 'demos'"]),
        ("make demo CLUSTERS=kind", ["the Makefile does not know CLUSTERS"]),
        ("pip install '.[cli]'", []),
        ("pip install '.[cmd]'", ["the package has no extra 'cmd'"]),
        ("python -m tests.values", []),
        ("python -m tests.valuables", ["there is no module 'tests.valuables'"]),
    ],
)  # fmt: skip
def test_faults_are_found(text: str, expected: list[str]) -> None:
    assert [fault for words in read_commands(text, "bash") for fault in find_faults(words)] == expected
