"""Who may use a class or an entry of the catalog. The chart's access-policy.yaml asks for it, by these words."""

from __future__ import annotations

from typing import Literal

Access = Literal["Everyone", "Permitted"]
VERB = "use"
"""What a Role allows on NestedClasses and NestedApps, by their names."""
