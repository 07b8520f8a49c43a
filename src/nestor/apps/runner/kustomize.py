"""What a kustomization would fetch from elsewhere: kustomize downloads bases itself, by git or HTTP, without any rules."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from nestor.apps.runner.attempt import StepError
from nestor.apps.runner.templates import KUSTOMIZATIONS

SIZE_LIMIT = 2**18
FOLDERS_LIMIT = 500
_TEXTS = (
    "apiVersion behavior commonAnnotations commonLabels fieldPaths images kind labels literals metadata name namePrefix"
    " nameSuffix namespace options patch select target type vars"
)
TEXTS = frozenset(_TEXTS.split())
"""Keys whose values name no files."""
_HOST = re.compile(r"^(?:[a-z0-9+.-]+::)?(?:[a-z0-9+.-]+://)?(?:[^@/]*@)?(\[[^\]]*\]|[^/:?]*)", re.IGNORECASE)
_WITH_HOST = re.compile(r"^([a-z0-9+.-]+::|[a-z0-9+.-]+://|[^@/ ]+@[^/ ]+[:/]|[^/ ]+\.[^/ ]+/)", re.IGNORECASE)

NO_FETCHING = {"GIT_ALLOW_PROTOCOL": "none"}
"""Environment in which git fetches nothing."""


def find_remote(folder: Path) -> list[tuple[str, str]]:
    """What the kustomization in `folder`, and all that it includes, would fetch: pairs of reference and host.

    Raises `StepError` for what is no kustomization.
    """
    found: dict[str, str] = {}
    ahead, seen = [folder], set()
    while ahead:
        current = ahead.pop().resolve()
        if current in seen:
            continue
        seen.add(current)
        if len(seen) > FOLDERS_LIMIT:
            raise StepError(f"the kustomization includes more than {FOLDERS_LIMIT} folders")
        for reference in _read_references(current):
            local = current / reference
            if os.path.exists(local):
                ahead += [local] if local.is_dir() else []
            elif _WITH_HOST.match(reference) and (match := _HOST.match(reference)):
                found[reference] = match.group(1).strip("[]")
    return sorted(found.items())


def _read_references(folder: Path) -> Iterator[str]:
    file = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
    if file is None:
        return
    if file.stat().st_size > SIZE_LIMIT:
        raise StepError(f"'{file.name}' is larger than {SIZE_LIMIT} bytes")
    try:
        # Nodes, not objects: aliases stay references and cannot multiply.
        root = yaml.compose(file.read_text(), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise StepError(f"'{file.name}' in folder '{folder.name}' is not YAML: {error}") from error
    yield from _walk(root)


def _walk(root: yaml.Node | None) -> Iterator[str]:
    ahead, seen = [root] if root else [], set()
    while ahead:
        node = ahead.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            # `name=path` in a generator's list of files.
            yield from {node.value, node.value.partition("=")[2] or node.value}
        elif isinstance(node, yaml.SequenceNode):
            ahead += node.value
        elif isinstance(node, yaml.MappingNode):
            ahead += [value for key, value in node.value if getattr(key, "value", None) not in TEXTS]
