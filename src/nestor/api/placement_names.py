"""Names of the host cluster that pods may use: of schedulers, PriorityClasses and RuntimeClasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from nestor.api.base import ObjectName
from nestor.api.parts import Limits, field, part


@part()
class Names:
    """Names of the host cluster that pods get, or may choose."""

    default: ObjectName | None = field(
        default=None, description="Name of what pods get that choose none of `allowed`. Defaults to the host's default."
    )
    allowed: Annotated[list[ObjectName], Limits(max_length=64)] = field(
        default_factory=list, description="Names that pods may choose. If not set, they may choose none."
    )

    def with_own(self, own: Mapping[str, str]) -> Names:
        """The same, with names of the tenant's own that stand for names of the host cluster. They are not written anywhere."""
        return _WithOwn(default=self.default, allowed=self.allowed, own=own)

    def find(self, name: str | None) -> str | None:
        """What a pod gets that says `name`; None for the host's default."""
        return self._list().get(name or "", self.default)

    def allows(self, name: str) -> bool:
        """Whether pods may choose it."""
        return name in self._list()

    def _list(self) -> dict[str, str]:
        """What each name that pods may choose stands for."""
        return {name: name for name in self.allowed}


@dataclass(frozen=True, kw_only=True)
class _WithOwn(Names):
    own: Mapping[str, str]

    def _list(self) -> dict[str, str]:
        return {**self.own, **super()._list()}
