"""What becomes of each field of a nested object, in every version of Kubernetes that a class may offer.

The tables are the one place that says which fields the host has: translations, refusals and messages take their lists from here.
A test holds them against the OpenAPI of each version (`tests/openapi`), so that no field of a new one is dropped in silence.
"""

from nestor.pods.translate.fields import containers, pods, services, volumes
from nestor.pods.translate.fields.rule import Rule, Table, find, find_changing, find_unknown

__all__ = ["TABLES", "Rule", "Table", "find", "find_changing", "find_unknown"]

TABLES: dict[str, Table] = pods.TABLES | containers.TABLES | volumes.TABLES | services.TABLES
"""By type, as OpenAPI calls it."""
