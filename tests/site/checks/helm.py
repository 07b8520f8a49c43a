"""`helm`: subcommands, options, and the chart's values.

Whether helm itself has the options, `tests/integration/demo/test_options.py` asks it.
"""

import re
from collections.abc import Iterator

from tests.site.checks.fields import has_path, values_schema
from tests.site.checks.files import ROOT, Place, find_missing
from tests.site.checks.options import Options, parse

GLOBAL = ("-n", "--namespace", "--kube-context", "--kubeconfig")
_VALUES = ("-f", "--values", "--set", "--set-string", "--set-json", "--version", "--timeout")
VERBS = {
    "get": Options(("--revision", "-o"), ("-a", "--all")),
    "history": Options(),
    "install": Options(_VALUES, ("--create-namespace", "--wait", "--dry-run")),
    "lint": Options(("-f", "--values", "--set", "--set-string", "--set-json"), ("--strict",)),
    "list": Options((), ("-A", "--all-namespaces")),
    "rollback": Options(("--timeout",), ("--wait",)),
    "show": Options(),
    "status": Options(),
    "test": Options(("--timeout",), ()),
    "template": Options(_VALUES, ("--include-crds",)),
    "uninstall": Options(("--timeout",), ("--wait", "--keep-history", "--no-hooks")),
    "upgrade": Options(
        _VALUES,
        (
            "--install",
            "-i",
            "--create-namespace",
            "--wait",
            "--reuse-values",
            "--reset-values",
            "--reset-then-reuse-values",
            "--dry-run",
        ),
    ),
}
CHART = "charts/nestor"
_WITH_CHART = {"upgrade": 1, "install": 1, "template": 1, "lint": 0, "show": 1}


def check(words: list[str], place: Place) -> Iterator[str]:
    """Faults of the arguments of `helm`."""
    first = parse(words, Options(GLOBAL, ())).words[:1]
    if not first or first[0] not in VERBS:
        yield f"helm has no command '{first[0] if first else ''}'"
        return
    verb = first[0]
    options = VERBS[verb]
    found = parse(words, Options((*GLOBAL, *options.values), options.flags))
    for name in found.unknown:
        yield f"helm {verb} has no option {name}, or the table of this check lacks it"
    chart = found.words[1 + _WITH_CHART[verb]] if verb in _WITH_CHART and len(found.words) > 1 + _WITH_CHART[verb] else CHART
    if not (ROOT / chart / "Chart.yaml").is_file():
        yield f"there is no chart '{chart}'"
    yield from find_missing(found.get("-f", "--values"), place)
    if chart == CHART:
        for text in found.get("--set", "--set-string", "--set-json"):
            yield from _check_values(text)


def _check_values(text: str) -> Iterator[str]:
    for part in re.split(r"(?<!\\),(?![^{\[]*[}\]])", text):
        path = part.partition("=")[0]
        if not has_path(values_schema(), path):
            yield f"the chart has no value '{path}'"
