"""Printing objects and tables in the formats of `-o`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from nestor.api.objects import Object
from nestor.clients.cli import console
from nestor.clients.cli.options import Output
from nestor.clients.cli.yamltext import dump_yaml

_MANAGED = ("managedFields",)


def print_objects(objects: Sequence[Object], form: Output, *, is_list: bool) -> None:
    """As JSON, YAML, or `kind/name` lines. Several objects become a List, as kubectl has it."""
    if form is Output.NAME:
        for item in objects:
            console.out().print(f"{item['kind'].lower()}.nestor.dev/{item['metadata']['name']}", soft_wrap=True)
        return
    tidy = [_without_noise(item) for item in objects]
    content: Object = {"apiVersion": "v1", "kind": "List", "items": tidy} if is_list else tidy[0]
    write(to_json(content) if form is Output.JSON else dump_yaml(content))


def to_json(content: Any) -> str:
    """Two spaces, as kubectl prints it."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write(text: str) -> None:
    """To standard output, as it is."""
    sys.stdout.write(text)
    sys.stdout.flush()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
    """Columns like kubectl's; the last one may be cut at a terminal's edge."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="head", show_edge=False)
    for index, title in enumerate(head):
        table.add_column(title, no_wrap=True, overflow="ellipsis" if index == len(head) - 1 else "fold")
    for row in rows:
        table.add_row(*[Text(console.clean(cell)) if isinstance(cell, str) else cell for cell in row])
    console.show(table)


def _without_noise(item: Object) -> Object:
    meta = {key: value for key, value in item["metadata"].items() if key not in _MANAGED}
    return {"apiVersion": item.get("apiVersion"), "kind": item.get("kind"), **item, "metadata": meta}
