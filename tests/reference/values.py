"""What follows from `values.yaml` and the CRDs: the page about the chart's values, and the schema of `defaultClass`."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
VALUES = ROOT / "charts/nestor/values.yaml"
SCHEMA, CRD = ROOT / "charts/nestor/values.schema.json", ROOT / "crds/nestedclasses.yaml"
_DROPPED = ("default", "description", "format")
_HEAD = """# Chart values

Built from the comments in `charts/nestor/values.yaml` by `python -m tests.reference`. `values.schema.json` beside it rejects
misspelled keys and wrong types. [NestedClass](nestedclass.md) describes the values of `defaultClass`.

| value | default | what it is |
|---|---|---|
"""
_KEY = re.compile(r"(?P<indent> *)(?P<unset># )?(?P<key>[A-Za-z][A-Za-z0-9]*):(?P<rest>.*)")


@dataclass(frozen=True)
class Value:
    """One value: its path, its comment, and its default as YAML; None if the chart sets none."""

    path: str
    says: str
    default: str | None


def read_values(text: str) -> list[Value]:
    """All values with a comment of their own, in their order."""
    return list(_read(text, yaml.safe_load(text)))


def list_paths(values: Any, path: str = "") -> Iterator[str]:
    """The paths of all values that the chart sets; what is in lists is part of these."""
    for key, value in values.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from list_paths(value, f"{path}{key}.")


def build_page(values: list[Value]) -> str:
    """The page."""
    rows = [
        f"| `{item.path}` | {'' if item.default is None else f'`{item.default}`'} | {item.says.replace('|', chr(92) + '|')} |"
        for item in values
    ]
    return _HEAD + "\n".join(rows) + "\n"


def fill_schema(text: str, crd: dict[str, Any]) -> str:
    """The schema of all values, with that of `defaultClass`, its last property, as the CRD says it: one field per line."""
    spec = _convert(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"])
    lines = [f"        {json.dumps(name)}: {json.dumps(field)}" for name, field in spec["properties"].items()]
    fields = ",\n".join(['        "create": {"type": "boolean"}', *lines])
    head = text[: text.index('    "defaultClass": ')]
    return f"""{head}    "defaultClass": {{
      "type": "object",
      "additionalProperties": false,
      "properties": {{
{fields}
      }}
    }}
  }}
}}
"""


def _convert(schema: dict[str, Any]) -> dict[str, Any]:
    """Without what helm cannot check; a field that nobody knows is refused."""
    found = {key: value for key, value in schema.items() if key not in _DROPPED and not key.startswith("x-kubernetes")}
    if "properties" in found:
        found["properties"] = {name: _convert(item) for name, item in found["properties"].items()}
        found["additionalProperties"] = False
    return found | {key: _convert(found[key]) for key in ("items", "additionalProperties") if isinstance(found.get(key), dict)}


def _read(text: str, values: dict[str, Any]) -> Iterator[Value]:
    comment: list[str] = []
    parents: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = _KEY.fullmatch(line)
        is_described = bool(comment) and comment[0].startswith("--")
        # A commented key is one that the chart leaves unset; elsewhere, it is a line of a comment that looks like one.
        is_unset = bool(found and found["unset"] and is_described and parents and parents[0][1] == "defaultClass")
        if found and (not found["unset"] or is_unset):
            depth = len(found["indent"])
            parents = [*(item for item in parents if item[0] < depth), (depth, found["key"])]
            path = [key for _, key in parents]
            if comment:
                default = None if found["unset"] else _write(values, path)
                yield Value(".".join(path), _join(comment), default)
            comment = []
        elif line.lstrip().startswith("#"):
            own = line.lstrip()[1:].strip()
            comment = [own] if own.startswith("--") else [*comment, own]
        else:
            comment = []


def _join(comment: list[str]) -> str:
    return " ".join(comment).removeprefix("--").strip()


def _write(values: dict[str, Any], path: list[str]) -> str | None:
    """The default; None for what has values of its own."""
    found: Any = values
    for key in path:
        found = found[key]
    text = json.dumps(found)
    return None if isinstance(found, dict) and found else "[…]" if len(text) > 60 else text
