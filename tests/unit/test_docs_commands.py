"""The commands of README.md, docs, and the READMEs of the chart, the examples and the development cluster: each is right, and
each is run by a test, or it is said why it cannot be.

Commands stand in blocks of the languages bash, sh and console. What they name must exist: options of `nestor` in its own parser,
resources and fields in the CustomResourceDefinitions, values in the chart's schema, files in the repository or on the page.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from nestor.api.conditions import REASONS
from nestor.api.crd import RESOURCES
from tests.site import blocks, proofs
from tests.site.blocks import Block
from tests.site.checks import find_faults
from tests.site.checks.fields import find_unknown, has_path, schema_of, values_schema
from tests.site.checks.files import Place
from tests.site.shell import read_commands

ROOT = Path(__file__).parents[2]
BLOCKS = blocks.list_blocks()
COMMANDS = [
    (f"{block.page}:{block.line}", block.page, words)
    for block in BLOCKS
    if block.language in blocks.SHELLS
    for words in read_commands(block.text, block.language)
]
SAID = sorted(set(blocks.list_inline()))
"""Commands in sentences."""
PROVEN = COMMANDS + [
    (page, page, words) for page, text in SAID if page.startswith("examples/") for words in read_commands(text, "bash")
]
"""An example's commands are in its sentences: its README is short."""
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


def place_of(page: str) -> Place:
    """An example's commands are given in its folder, all others where the repository begins."""
    titles = [Path(block.title) for block in BLOCKS if block.page == page and block.title]
    folder = (ROOT / page).parent
    made = {str(path) for title in titles for path in (title, *title.parents)}
    return Place(folder if folder.parent == blocks.EXAMPLES else ROOT, made)


def test_every_block_says_its_language() -> None:
    assert [f"{block.page}:{block.line}" for block in BLOCKS if not block.language] == [], "bash, console, yaml, text, …"
    assert len(COMMANDS) > 120


def test_what_a_command_names_exists() -> None:
    found = {f"{place}: {shlex.join(words)}": find_faults(words, place_of(page)) for place, page, words in COMMANDS}
    faults = [f"{command}: {', '.join(told)}" for command, told in found.items() if told]
    assert not faults, "\n".join(faults)


def test_what_a_command_in_a_sentence_names_exists() -> None:
    faults = []
    for page, text in SAID:
        place = place_of(page)
        told = [fault for words in read_commands(text, "bash") for fault in find_faults(words, place)]
        # A sentence may leave out what its reader knows; an example's names files that are beside it.
        known = r"is missing$" if place.folder != ROOT else r"is missing$|^there is no file"
        faults += [f"{page}: {text}: {fault}" for fault in told if not re.search(known, fault)]
    assert not faults, "\n".join(faults)


def find_proof(page: str, words: list[str]) -> proofs.Proof | None:
    """The first row that speaks of a command."""
    return next((row for row in proofs.PROOFS if row.speaks_of(page, words)), None)


def test_a_command_is_run_by_a_test_or_has_a_reason_not_to_be() -> None:
    found = [(f"{place}: {shlex.join(words)}", find_proof(page, words)) for place, page, words in PROVEN]
    faults = [f"no row of tests/site/proofs.txt speaks of {command}" for command, row in found if row is None]
    used = {row for _, row in found}
    faults += [f"speaks of no command: {row.pages} {row.pattern}" for row in proofs.PROOFS if row not in used]
    for row in proofs.PROOFS:
        file, _, test = row.what.partition("::")
        if row.how != "NOT" and not re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text(), re.MULTILINE):
            faults.append(f"there is no test {row.what}")
    assert not faults, "\n".join(faults)


def test_what_needs_no_cluster_works_as_the_page_says(tmp_path: Path) -> None:
    rows = [(page, words, find_proof(page, words)) for _, page, words in COMMANDS]
    commands = [(page, words) for page, words, row in rows if row is not None and row.what == proofs.OFFLINE]
    assert commands
    for page, words in commands:
        _run_offline(page, words, tmp_path / page)


def _run_offline(page: str, words: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for block in BLOCKS:
        if block.page == page and block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
    ended = subprocess.run(
        [sys.executable, "-m", "nestor", *words[1:]],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, f"{shlex.join(words)}: {ended.stdout}{ended.stderr}"
    assert "warning" not in ended.stderr
    assert ended.stdout


def test_every_field_of_a_snippet_exists() -> None:
    """What has a kind of ours has only fields that there are; what has none is part of a class, or values of the chart."""
    faults = [f"{block.page}:{block.line}: {fault}" for block in SNIPPETS for fault in _find_faults(block)]
    assert not faults, "\n".join(faults)


def _find_faults(block: Block) -> Iterator[str]:
    for document in yaml.safe_load_all(block.text):
        kind = document.get("kind")
        if kind in KINDS:
            yield from find_unknown(document, schema_of(kind))
        elif kind is None and document.keys() not in PARTS_OF_OTHERS.get(block.page, ()):
            wholes = [values_schema(), schema_of("NestedClass")["properties"]["spec"]]
            wholes += [schema_of("NestedAppJob"), schema_of("OverflowBackend")]
            if [] not in [list(find_unknown(document, schema)) for schema in wholes]:
                yield f"nothing has {', '.join(document)}"
        elif kind is not None and "apiVersion" not in document and kind not in OF_OTHERS:
            yield f"{kind} has no apiVersion"


PAGES = ("troubleshooting", "users", "admins", "install", "jarvice", "app-authors", "overflow", "evidence/features-overflow")
GUIDES = "\n".join((ROOT / f"docs/{page}.md").read_text() for page in PAGES)
SOURCE = "\n".join(file.read_text() for file in sorted((ROOT / "src" / "nestor").rglob("*.py")))
NAMES_OF_OTHERS = {"FailedScheduling", "ImagePullBackOff", "ImageVolume", "KubeletReady", "PrologSlurmctld", "ProviderFailed"}
NO_FIELDS = {"user-roles.yaml", "hello.yaml", "class.yaml", "parameters.REPLICAS"}
FIELDS_OF_OTHERS = {"status.hostIP", "status.podIP", "allocatable.pods", "ram.gb"}


def test_every_reason_event_and_kind_of_the_guides_exists() -> None:
    named = {*re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`", GUIDES)} - NAMES_OF_OTHERS - {str(reason) for reason in REASONS}
    assert sorted(word for word in named if f'"{word}"' not in SOURCE) == []


def test_every_field_of_the_guides_exists() -> None:
    """From the beginning, or below `spec`, `status` or a class's `placement`."""
    wholes = [schema_of(resource.kind) for resource in RESOURCES]
    parts = [schema["properties"][part] for schema in wholes for part in ("spec", "status") if part in schema["properties"]]
    placement = schema_of("NestedClass")["properties"]["spec"]["properties"]["placement"]
    named = {*re.findall(r"`([a-z][A-Za-z]+(?:\.[a-z][A-Za-z]+)+)`", GUIDES)} - NO_FIELDS - FIELDS_OF_OTHERS
    known = [*wholes, *parts, placement, values_schema()]
    assert sorted(field for field in named if not any(has_path(schema, field) for schema in known)) == []


FAULTS: tuple[tuple[str, list[str]], ...] = (
    ("nestor exec b -- kubectl fetch pods", ["kubectl has no verb 'fetch'"]),
    ("nestor lst", ["there is no command 'lst'"]),
    ("nestor list --every", ["list: No such option: --every"]),
    ("nestor status", ["status: `name` is missing"]),
    ("nestor status a b", ["status: too many arguments: b"]),
    ("nestor list -o xml", ["list: --output must be one of json, yaml, wide, name, not 'xml'"]),
    ("nestor validate no-such.yaml", ["there is no file 'no-such.yaml'"]),
    ("kubectl nestor lst", ["there is no command 'lst'"]),
    ("kubectl get nestedjobs", ["there is no kind 'nestedjobs', or the table of this check lacks it"]),
    ("kubectl fetch naj", ["kubectl has no verb 'fetch'"]),
    ("kubectl get naj --every", ["kubectl get has no option --every, or the table of this check lacks it"]),
    ("kubectl explain nclass.spec.expose.domian", ["nclass has no field 'spec.expose.domian'"]),
    ("kubectl annotate naj x nestor.dev/rerunn=1", ["there is no label or annotation 'nestor.dev/rerunn'"]),
    ("kubectl get naj x -o jsonpath='{.status.uri}'", ["NestedAppJob has no field '.status.uri'"]),
    ('kubectl patch naj x --type merge -p \'{"spec": {"suspended": true}}\'', ["NestedAppJob has no field 'spec.suspended'"]),
    ("kubectl apply -f no-such.yaml", ["there is no file 'no-such.yaml'"]),
    ("helm upgrade nestor charts/nestor --set operator.replica=2", ["the chart has no value 'operator.replica'"]),
    ("helm upgrade nestor charts/nest", ["there is no chart 'charts/nest'"]),
    ("helm list --force", ["helm list has no option --force, or the table of this check lacks it"]),
    ("make demos", ["there is no target 'demos'"]),
    ("make demo CLUSTERS=kind", ["neither the Makefile nor devcluster knows CLUSTERS"]),
    ("pip install '.[cmd]'", ["the package has no extra 'cmd'"]),
    ("python -m tests.valuables", ["there is no module 'tests.valuables'"]),
    ("python -m devcluster node", ["python -m devcluster node: error: the following arguments are required: action, name"]),
    ("python -m devcluster hold -- make demos", ["there is no target 'demos'"]),
)  # fmt: skip


def test_faults_are_found() -> None:
    found = {text: [fault for words in read_commands(text, "bash") for fault in find_faults(words)] for text, _ in FAULTS}
    assert found == dict(FAULTS)


def test_files_are_looked_for_where_the_command_is_given(tmp_path: Path) -> None:
    here = Place(blocks.EXAMPLES / "14-database")
    command = "kubectl patch nclass default --type merge --patch-file"
    assert find_faults(shlex.split(f"{command} storage.yaml"), here) == []
    assert find_faults(shlex.split(f"{command} placement.yaml"), here) == ["there is no file 'placement.yaml'"]
    (tmp_path / "class.yaml").write_text("spec: {quotas: {}}")
    told = find_faults(shlex.split(f"{command} class.yaml"), Place(tmp_path))
    assert told == ["NestedClass has no field 'spec.quotas', in class.yaml"]


def test_a_job_that_an_examples_commands_name_is_the_examples() -> None:
    for file in sorted(blocks.EXAMPLES.glob("*/README.md")):
        page = f"examples/{file.parent.name}/README.md"
        named = {words[2] for _, where, words in PROVEN if where == page and words[:2] == ["nestor", "exec"]}
        jobs = [job for path in file.parent.glob("job*.yaml") for job in yaml.safe_load_all(path.read_text())]
        assert named <= {job["metadata"]["name"] for job in jobs}, page
