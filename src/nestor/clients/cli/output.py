"""Printing objects and tables in the formats of `-o`."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import yaml
from rich.table import Table
from rich.text import Text

from nestor.api.objects import Object, without_managers
from nestor.clients.cli import console
from nestor.clients.cli.options import Output

_SAFE = re.compile(r"[A-Za-z/][-A-Za-z0-9 _./@+=<>()$%']*(?<![ ])\Z")
"""Begins with a letter, holds nothing that YAML gives a meaning to: `:` and `#` among others."""
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
"""Words of YAML 1.1 and of lenient readers that are no strings."""


def print_objects(objects: Sequence[Object], form: Output, *, is_list: bool) -> None:
    """As `kind/name` lines, YAML, or else JSON. Several objects become a List, as kubectl has it."""
    if form is Output.NAME:
        for item in objects:
            console.out().print(f"{item['kind'].lower()}.nestor.dev/{item['metadata']['name']}", soft_wrap=True)
        return
    tidy = [_without_noise(item) for item in objects]
    content: Object = {"apiVersion": "v1", "kind": "List", "items": tidy} if is_list else tidy[0]
    write(dump_yaml(content) if form is Output.YAML else to_json(content))


def to_json(content: Any) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str | Text]], widths: Sequence[int] = ()) -> None:
    """Columns like kubectl's. `widths`: those of the rows before, below which the head is not repeated."""
    table = Table.grid(padding=(0, 3, 0, 0))
    for width in widths:
        table.add_column(min_width=width)
    if not widths:
        table.add_row(*[Text.assemble((title, "head")) for title in head])
    for row in rows:
        table.add_row(*[Text(console.clean(cell)) if isinstance(cell, str) else cell for cell in row])
    console.show(table, target=console.out(is_cut=False))


def _without_noise(item: Object) -> Object:
    return {"apiVersion": item.get("apiVersion"), "kind": item.get("kind"), **without_managers(item)}


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Repeat what is repeated: an alias reads badly, and several tools refuse them."""
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if "\n" in text and not re.search(r"[^\n\t -~\u00a0-\ud7ff\ue000-\ufffd]| \n|\t\n", text):
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    if _SAFE.match(text) and text.lower() not in _WORDS:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Dumper.add_representer(str, _represent)


def dump_yaml(content: Any) -> str:
    """One document, keys in their order."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=False)
