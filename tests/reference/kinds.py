"""A page per kind, from its CustomResourceDefinition: every field with its type, its default and what it may hold. Pure."""

from collections.abc import Iterator

from nestor.api import labels
from nestor.api.crd import Resource, build_crd
from nestor.api.schema import Schema
from nestor.api.words import VERSION
from tests.reference.words import escape, is_immutable, list_rules, write_default, write_limits, write_type

_HEAD = """# {kind}

{description}

| | |
|---|---|
| API version | `{group}/{version}` |
| names for kubectl | `{plural}`, `{singular}`, `{short}` |
| scope | {scope} |

Built from the models in `src/nestor/api` by `python -m tests.reference`; `kubectl explain {short}.spec` prints the same.
**Required** means: wherever the object that has the field is given. **Immutable** fields can be set only at creation: to change
one, delete the object and create it again. Without a default, a field that is left out is absent.
"""
_TABLE = ["| field | type | default | what it is |", "|---|---|---|---|"]


def build_page(resource: Resource) -> str:
    """The page of one kind."""
    crd = build_crd(resource)
    root: Schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    parts = [
        _HEAD.format(
            kind=resource.kind,
            description=resource.description,
            group=labels.GROUP,
            version=VERSION,
            plural=resource.plural,
            singular=resource.kind.lower(),
            short=resource.short,
            scope="cluster: it has no namespace" if resource.scope == "Cluster" else "namespace",
        )
    ]
    rules = list_rules(root)
    if rules:
        parts.append("\n".join([f"- {_end(_capitalize(rule))}" for rule in rules]) + "\n")
    parts += _write_part("spec", root["properties"]["spec"])
    if "status" in root["properties"]:
        parts += _write_part("status", root["properties"]["status"])
    parts.append(_write_columns(resource))
    return "\n".join(parts)


def _write_part(name: str, node: Schema) -> Iterator[str]:
    """`spec` or `status`: the fields that have none of their own in one table, then a table for each of the others."""
    properties: Schema = node["properties"]
    required = node.get("required", ())
    rows = [_write_row(f"{name}.{key}", child, is_required=key in required) for key, child in properties.items()]
    rules = [f"- {_end(_capitalize(rule))}" for rule in list_rules(node)]
    yield f"## `{name}`\n\n{_end(node.get('description', ''))}\n"
    if rules:
        yield "\n".join(rules) + "\n"
    yield "\n".join([*_TABLE, *rows]) + "\n"
    for key, child in properties.items():
        inner = list(_list_rows(child, f"{name}.{key}"))
        if inner:
            yield f"### `{name}.{key}`\n"
            yield "\n".join([*_TABLE, *inner]) + "\n"


def _list_rows(node: Schema, path: str) -> Iterator[str]:
    """A row for each field below a node, in depth first order."""
    for inner, suffix in ((node.get("items"), "[]"), (node.get("additionalProperties"), ".*")):
        if isinstance(inner, dict):
            yield from _list_rows(inner, f"{path}{suffix}")
    required = node.get("required", ())
    for key, child in node.get("properties", {}).items():
        yield _write_row(f"{path}.{key}", child, is_required=key in required)
        yield from _list_rows(child, f"{path}.{key}")


def _write_row(path: str, node: Schema, *, is_required: bool) -> str:
    description = _end(node.get("description", ""))
    # Not all that is immutable is so by a rule of its own.
    is_fixed = is_immutable(node) or description.endswith(" Immutable.")
    says = [description.removesuffix(" Immutable.")]
    if is_required:
        says.insert(0, "**Required.**")
    limits = [*write_limits(node), *(f"each {text}" for text in write_limits(node.get("items", {})))]
    if limits:
        says.append(_end(_capitalize("; ".join(limits))))
    if is_fixed:
        says.append("**Immutable.**")
    rules = [
        rule for part in (node, node.get("items", {})) for rule in list_rules(part) if "may not be changed: delete" not in rule
    ]
    says += [_end(_capitalize(rule)) for rule in dict.fromkeys(rules)]
    return f"| `{path}` | {write_type(node)} | {write_default(node)} | {escape(' '.join(item for item in says if item))} |"


def _write_columns(resource: Resource) -> str:
    rows = [
        f"| `{column.name}`{' (`-o wide`)' if column.priority else ''} | {escape(column.description)} |"
        for column in resource.columns
    ]
    return "\n".join([f"## What `kubectl get {resource.short}` shows\n", "| column | |", "|---|---|", *rows]) + "\n"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _end(text: str) -> str:
    text = " ".join(text.split())
    return text if not text or text.endswith((".", "!", "?", ":")) else f"{text}."
