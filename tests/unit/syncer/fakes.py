"""API servers that note what they are asked, for the few decisions that depend on an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

from nestor.api.objects import Object
from nestor.kube import Kind


class FakeApi:
    """Holds pods for `list` and objects for `request`; notes deletions and requests."""

    def __init__(self, pods: list[Object] | None = None, answer: Object | None = None) -> None:
        self.pods = pods or []
        self.answer = answer or {}
        self.deleted: list[str] = []
        self.asked: list[str] = []

    async def list(self, kind: Kind, namespace: str, *, labels: str) -> list[Object]:
        self.asked.append(f"{kind.plural} {namespace} {labels}")
        return self.pods

    async def delete(self, kind: Kind, name: str, namespace: str, **options: Any) -> bool:
        self.deleted.append(f"{kind.plural} {namespace}/{name} {options}")
        return True

    def with_limit(self, answer_bytes: int) -> Self:
        return self

    async def request(self, method: str, path: str) -> Object:
        self.asked.append(f"{method} {path}")
        return self.answer


class NoGangs:
    """Where no pod is in a gang."""

    async def find(self, *_: Any) -> None:
        """None."""

    note_wait = find

    def build_release(self, _: Object) -> None:
        """Nothing to let go."""

    def admit(self, _: str) -> None:
        """Nobody to tell."""

    refuse = forget = admit


NO_GANGS: Any = NoGangs()


class NoPolicies:
    """No policy isolates any pod."""

    def find(self, _: Any) -> dict[str, str]:
        return {}


NO_POLICIES: Any = NoPolicies()


class NoCache:
    """Keeps nothing."""

    def put(self, _: Object) -> None:
        """What a server has answered."""


NO_CACHE: Any = NoCache()


class NoOwnNodes:
    """Where tenants have added nothing to nodes."""

    def resolve(self, pod: Object) -> Object:
        return pod

    def find_ignored(self, _: Object) -> list[str]:
        return []


NO_OWN_NODES: Any = NoOwnNodes()


def context(**parts: Any) -> Any:
    return SimpleNamespace(**parts)
