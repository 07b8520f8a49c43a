"""YAML that every reader understands in the same way: what one of them could take for another type is quoted."""

from __future__ import annotations

import re
from typing import Any

import yaml

_SAFE = re.compile(r"[A-Za-z/][-A-Za-z0-9 _./@+=<>()$%']*(?<![ ])\Z")
"""Begins with a letter, holds nothing that YAML gives a meaning to: `:` and `#` among others."""
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
"""Words of YAML 1.1 and of lenient readers that are no strings."""


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
