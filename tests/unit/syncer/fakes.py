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


def context(**parts: Any) -> Any:
    return SimpleNamespace(**parts)
