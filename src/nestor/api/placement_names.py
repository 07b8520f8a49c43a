"""Names of the host cluster that pods may use: of schedulers, PriorityClasses and RuntimeClasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, PrivateAttr

from nestor.api.base import Model, ObjectName, list_map


class AllowedName(Model):
    """A name that pods may use, and what it stands for in the host cluster."""

    name: ObjectName = Field(description="Name in the nested cluster.")
    host_name: ObjectName | None = Field(None, description="Name in the host cluster. Defaults to `name`.")


class Names(Model):
    """Names of the host cluster that pods get, or may choose by names of the nested cluster."""

    default: ObjectName | None = Field(
        None,
        description="Name in the host cluster of what pods get that choose none of `allowed`. Defaults to the host's default.",
    )
    allowed: Annotated[list[AllowedName], Field(max_length=64, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="Names that pods may choose. If not set, they may choose none."
    )

    _own: dict[str, str] = PrivateAttr(default_factory=dict)

    def with_own(self, own: Mapping[str, str]) -> Self:
        """The same, with names of the tenant's own that stand for names of the host cluster. They are not written anywhere."""
        found = self.model_copy()
        found._own = dict(own)
        return found

    def find(self, name: str | None) -> str | None:
        """What a pod gets that says `name`; None for the host's default."""
        found = self._own | {item.name: item.host_name or item.name for item in self.allowed}
        return found.get(name or "", self.default)

    def allows(self, name: str) -> bool:
        """Whether pods may choose it."""
        return name in self._own or any(item.name == name for item in self.allowed)
