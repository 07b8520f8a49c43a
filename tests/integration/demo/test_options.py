"""kubectl and helm have the options that the checks of the documentation's commands know."""

import re
import subprocess

import pytest

from devcluster.demo.tools import find_tool
from tests.site.checks import helm, kubectl

SUBCOMMANDS = {
    "auth": ["can-i"],
    "create": [
        "",
        "configmap",
        "deployment",
        "quota",
        "rolebinding",
        "clusterrole",
        "secret generic",
        "secret tls",
        "secret docker-registry",
    ],
    "rollout": ["status"],
    "top": ["pods"],
}


def read_help(tool: str, *words: str) -> str:
    return subprocess.run([find_tool(tool), *words], capture_output=True, text=True, check=True).stdout


def has_option(text: str, name: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


@pytest.mark.parametrize("verb", kubectl.VERBS)
def test_kubectl_has_the_options_of_the_table(verb: str) -> None:
    texts = [read_help("kubectl", verb, *sub.split(), "--help") for sub in SUBCOMMANDS.get(verb, [""])]
    options = {*kubectl.VERBS[verb].values, *kubectl.VERBS[verb].flags}
    if options & {"-i", "-t"}:
        options -= {"-it"}
    assert [name for name in options if not has_option("\n".join(texts), name)] == []


def test_kubectl_has_the_options_of_all_verbs() -> None:
    text = read_help("kubectl", "options")
    assert [name for name in kubectl.GLOBAL if not has_option(text, name)] == []


@pytest.mark.parametrize("verb", helm.VERBS)
def test_helm_has_the_options_of_the_table(verb: str) -> None:
    subs = {"get": ["values"], "show": ["values"]}.get(verb, [""])
    text = "\n".join(read_help("helm", verb, *sub.split(), "--help") for sub in subs)
    options = {*helm.VERBS[verb].values, *helm.VERBS[verb].flags, *helm.GLOBAL}
    assert [name for name in options if not has_option(text, name)] == []
