"""The page about the AppDef, from its models. Pure."""

from pydantic import BaseModel

from nestor.api.appdef_models import AppDef, Command, Icon, NestedKubernetes, Target
from nestor.api.schema import Schema
from tests.reference.words import escape, write_type

_HEAD = """# AppDef

The keys of an AppDef, version 2, and what each means to Nestor. Built from the models in `src/nestor/api/appdef_models.py` by
`python -m tests.reference`. Keys that Nestor does not know are kept and have no effect; a warning names them.
[Write an application](../app-authors.md) shows how they are used,
[What KNS users get](../evidence/features.md) compares them with KNS.
"""
_PARTS: list[tuple[str, str, type[BaseModel]]] = [
    ("The AppDef", "", AppDef),
    ("The icon", "image.", Icon),
    ("A command", "commands.*.", Command),
    ("What Kubernetes needs", "commands.*.nested_kubernetes.", NestedKubernetes),
    ("A target", "commands.*.nested_kubernetes.targets[].", Target),
]


def build_page() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_write_part(*part) for part in _PARTS)])


def _write_part(title: str, prefix: str, model: type[BaseModel]) -> str:
    rows = [_write_row(f"{prefix}{field.alias or name}", name, model) for name, field in model.model_fields.items()]
    return "\n".join([f"## {title}\n", "| key | type | what it is |", "|---|---|---|", *rows]) + "\n"


def _write_row(path: str, name: str, model: type[BaseModel]) -> str:
    field = model.model_fields[name]
    schema = model.model_json_schema(by_alias=True)["properties"][field.alias or name]
    required = "**Required.** " if field.is_required() else ""
    return f"| `{path}` | {_write_type(schema)} | {required}{escape(field.description or '')} |"


def _write_type(schema: Schema) -> str:
    """Unions without null; a part of its own is an object."""
    if "$ref" in schema:
        return "object"
    choices = [item for item in schema.get("anyOf", [schema]) if item.get("type") != "null"]
    if choices != [schema]:
        return " or ".join(_write_type(item) for item in choices)
    if schema.get("type") == "array":
        inner = schema.get("items", {})
        return "list" if not inner else f"list of {_write_type(inner)}s"
    return "map to object" if schema.get("additionalProperties") and schema.get("type") == "object" else write_type(schema)
