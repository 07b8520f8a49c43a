"""The reference in `docs/reference`, built from the models and the command line: `python -m tests.reference` writes it anew."""

from __future__ import annotations

from pathlib import Path

from nestor.api.crd import RESOURCES
from tests.reference import appdef, cli, kinds, reasons

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/reference"


def build_pages() -> dict[str, str]:
    """All pages by their file names."""
    of_kinds = {f"{resource.kind.lower()}.md": kinds.build_page(resource) for resource in RESOURCES}
    return of_kinds | {"appdef.md": appdef.build_page(), "cli.md": cli.build_page(), "reasons.md": reasons.build_page()}
