"""What a program must be allowed to do at an API server, said beside the code that does it."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.kube.kinds import Kind


@dataclass(frozen=True)
class Right:
    """Verbs on one kind, or on one of its subresources."""

    kind: Kind
    verbs: frozenset[str]
    subresource: str = ""

    @property
    def resource(self) -> str:
        """The resource as RBAC rules name it: `pods`, `pods/log`."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


def right(kind: Kind, *verbs: str, subresource: str = "") -> Right:
    """These verbs on that kind."""
    return Right(kind, frozenset(verbs), subresource)
