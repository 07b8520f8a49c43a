"""What the documentation tells the admin of the other cluster to apply."""

import re
from pathlib import Path

import yaml

from nestor.api.objects import Object

PAGE = Path(__file__).parents[4] / "docs/overflow-kubernetes.md"


def read_documents() -> list[Object]:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [list(yaml.safe_load_all(text)) for text in blocks if "kind: Role\n" in text]
    return found
