"""What two processes must agree on is written once, and does not change between versions that meet."""

import ast
from collections.abc import Iterator
from pathlib import Path

from nestor.api.contracts import cluster, reader, runner, syncer

SOURCE = Path(__file__).parents[4] / "src/nestor"
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != "contracts"]
WORDS = {
    getattr(module, name)
    for module in (cluster, reader, runner, syncer)
    for name in dir(module)
    if name.isupper() and isinstance(getattr(module, name), str)
}
COMMON = {"kube-system", "kubeconfig", "POD_NAMESPACE", "/tmp"}
"""Words that mean something elsewhere, too."""
K3S_OWN = {"client-ca.crt": "pki.py"}
"""A key of the PKI Secret as well, after K3s' own name for the file."""


def list_texts(file: Path) -> Iterator[str]:
    """All strings in a module's code, with the constant parts of f-strings."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_process_spells_such_a_word_itself() -> None:
    spelled = {(file, text) for file in FILES for text in list_texts(file) if text in WORDS - COMMON}
    faults = [f"{file}: {text!r}" for file, text in sorted(spelled) if K3S_OWN.get(text) != file.name]
    assert not faults, "\n".join(["use nestor.api.contracts:", *faults])


def test_exit_codes_stay_because_an_operator_meets_pods_of_the_version_before() -> None:
    assert {code.name: code.value for code in runner.Exit} == {
        "SUCCEEDED": 0, "STEP_FAILED": 1, "BAD_PLAN": 2, "NO_API": 3, "REFUSED": 4, "NO_VOLUME": 5, "SUPERSEDED": 6,
        "CRASHED": 70, "STOPPED": 143,
    }  # fmt: skip
    assert {code.name: code.value for code in reader.Exit} == {
        "READ": 0, "MISSING": 10, "UNREADABLE": 11, "TOO_BIG": 12, "INVALID": 13, "NO_VOLUME": 14, "CRASHED": 70,
    }  # fmt: skip
    assert sorted(reader.FAULTS) == [10, 11, 12, 13]
