"""What is built from models, tables, the command line and decisions: `python -m tests.reference` writes it.

These are pages of `docs`, and the schema of the chart's `defaultClass`.
"""

from pathlib import Path

from nestor.api.crd import RESOURCES
from tests.openapi import page as fields
from tests.reference import appdef, attacks, cli, decisions, kinds, reasons, values

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs"


def build_pages() -> dict[str, str]:
    """All pages by their paths in `docs`."""
    of_kinds = {f"reference/{resource.kind.lower()}.md": kinds.build_page(resource) for resource in RESOURCES}
    return of_kinds | {
        "reference/appdef.md": appdef.build_page(),
        "reference/cli.md": cli.build_page(),
        "reference/reasons.md": reasons.build_page(),
        "reference/fields.md": fields.build_page(),
        "reference/values.md": values.build_page(values.read_values(values.VALUES.read_text())),
        "evidence/attacks.md": attacks.build_page(),
        "decisions/README.md": decisions.build_page(),
    }
