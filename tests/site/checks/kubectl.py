"""`kubectl`: verbs, options, kinds, fields, labels and files.

Whether kubectl itself has the options, `tests/integration/demo/test_options.py` asks it.
"""

import json
import re
from collections.abc import Iterator

import yaml

from tests.site.checks.fields import find_unknown, find_unknown_keys, has_path, names_of_kinds, schema_of
from tests.site.checks.files import Place, find_missing
from tests.site.checks.options import Options, Parsed, parse

GLOBAL = ("-n", "--namespace", "--context", "--kubeconfig", "--as", "--as-group")
_SELECT = ("-l", "--selector", "--field-selector")
_OUTPUT = ("-o", "--output")
VERBS = {
    "annotate": Options(_SELECT, ("--overwrite", "--all")),
    "api-resources": Options(("--api-group",)),
    "apply": Options(("-f", "--filename", "-k", *_OUTPUT), ("--server-side", "--force-conflicts", "--dry-run")),
    "auth": Options((), ("-A",)),
    "cordon": Options(),
    "create": Options(
        ("-f", "--from-file", "--from-literal", "--docker-server", "--docker-username", "--docker-password", "--hard", "--image",
         "--clusterrole", "--user", "--group", "--serviceaccount", "--verb", "--resource", "--resource-name", "--cert", "--key"),
        ("--dry-run",),
    ),
    "debug": Options(("--image", "--target", "--profile"), ("-i", "-t", "-it")),
    "delete": Options((*_SELECT, "-f", "--timeout"), ("-A", "--all-namespaces", "--all", "--wait", "--ignore-not-found")),
    "describe": Options(("-l", "--selector"), ("-A", "--all-namespaces")),
    "drain": Options(("--timeout",), ("--ignore-daemonsets", "--delete-emptydir-data")),
    "edit": Options(),
    "exec": Options(("-c", "--container"), ("-i", "-t", "-it")),
    "explain": Options((), ("--recursive",)),
    "get": Options(
        (*_SELECT, *_OUTPUT, "-L", "--label-columns", "--sort-by"),
        ("-A", "--all-namespaces", "-w", "--watch", "--show-labels", "--no-headers"),
    ),
    "label": Options(_SELECT, ("--overwrite", "--all")),
    "logs": Options(
        ("-c", "--container", "--tail", "--since", "-l", "--selector"), ("-f", "--follow", "-p", "--previous", "--prefix")
    ),
    "patch": Options(("-p", "--patch", "--patch-file", "--type")),
    "port-forward": Options(),
    "rollout": Options(("--timeout",)),
    "run": Options(("--image", "--restart"), ("-i", "-t", "-it", "--rm")),
    "scale": Options(("--replicas",)),
    "top": Options((), ("-A",)),
    "version": Options(_OUTPUT, ("--client",)),
    "wait": Options(("--for", "--timeout", *_SELECT), ("--all", "-A")),
}  # fmt: skip
_KINDS = """
    all clusterrole clusterrolebinding cm configmap configmaps crd cronjob csr daemonset deploy deployment deployments
    endpoints event events hpa httproutes ingress ingresses job jobs lease limitrange namespace namespaces
    networkpolicies networkpolicy node nodes ns persistentvolume persistentvolumeclaim po pod pods pv pvc quota
    resourcequota role rolebinding sa secret secrets service serviceaccount services statefulset storageclass svc
    validatingadmissionpolicy
    appproject applications application workloads workload localqueues clusterqueues nodeclass
"""
"""Built-in ones; then those of Argo CD and Kueue."""
KINDS = frozenset(_KINDS.split())
_WITH_KIND = ("annotate", "delete", "describe", "edit", "get", "label", "patch", "scale", "wait")
_PLACEHOLDERS = ("KIND", "…")


def check(words: list[str], place: Place) -> Iterator[str]:
    """Faults of the arguments of `kubectl`."""
    verbs = [word for word in words if word in VERBS]
    first = parse(words, Options(GLOBAL, ())).words[:1]
    if not first or first[0] not in VERBS:
        yield f"kubectl has no verb '{first[0] if first else ''}'"
        return
    verb = verbs[0]
    options = VERBS[verb]
    found = parse(words, Options((*GLOBAL, *options.values), options.flags))
    for name in found.unknown:
        yield f"kubectl {verb} has no option {name}, or the table of this check lacks it"
    yield from (f"there is no label or annotation '{key}'" for key in find_unknown_keys(" ".join(words)))
    yield from find_missing([name for name in found.get("-f", "--filename", "--patch-file", "-k") if "://" not in name], place)
    yield from _check_objects(verb, found, place)


def _check_objects(verb: str, found: Parsed, place: Place) -> Iterator[str]:
    words = found.words[1:]
    if verb == "explain":
        kind, _, path = words[0].partition(".")
        yield from _check_kind(kind)
        if kind in names_of_kinds() and not has_path(schema_of(names_of_kinds()[kind].kind), path):
            yield f"{kind} has no field '{path}'"
    if verb == "auth" and words[:1] == ["can-i"]:
        yield from _check_kind(words[2].partition("/")[0])
    if verb not in _WITH_KIND or not words:
        return
    kinds = list(_list_kinds(words))
    for kind in kinds:
        yield from _check_kind(kind)
    ours = [names_of_kinds()[kind].kind for kind in kinds if kind in names_of_kinds()]
    for kind in ours:
        yield from _check_fields(kind, found, place)


def _list_kinds(words: list[str]) -> Iterator[str]:
    if any("/" in word for word in words[:1]):
        yield from (word.partition("/")[0] for word in words if "/" in word and "=" not in word)
    else:
        yield from words[0].split(",")


def _check_kind(kind: str) -> Iterator[str]:
    if kind not in names_of_kinds() and kind.lower() not in KINDS and kind not in _PLACEHOLDERS:
        yield f"there is no kind '{kind}', or the table of this check lacks it"


def _check_fields(kind: str, found: Parsed, place: Place) -> Iterator[str]:
    """Fields of one of our kinds that paths and patches name."""
    schema = schema_of(kind)
    texts = [*found.get("-o", "--output"), *found.get("--sort-by"), *found.get("--for")]
    for text in texts:
        for path in re.findall(r"\{(\.[^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", text):
            plain = re.sub(r"\[\?\(.*?\)\]", "", path)
            if not has_path(schema, plain):
                yield f"{kind} has no field '{plain}'"
    for patch in found.get("-p", "--patch"):
        yield from (f"{kind} has no field '{path}'" for path in find_unknown(json.loads(patch), schema))
    for name in found.get("--patch-file"):
        if (place.folder / name).is_file():
            value = yaml.safe_load((place.folder / name).read_text())
            yield from (f"{kind} has no field '{path}', in {name}" for path in find_unknown(value, schema))
