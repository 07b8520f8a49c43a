"""Which host a job claims, and who has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nestor import names
from nestor.api import labels
from nestor.api.nestedclass import ExposePolicy

Object = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """One job's wish for a host. The older job wins; of two of the same second the one that has it already, or the lower UID."""

    host: str
    job: str
    namespace: str
    uid: str
    created: str
    is_held: bool = False
    """Its Ingress has the host now."""

    @property
    def rank(self) -> tuple[str, bool, str]:
        """Sorts winners first."""
        return self.created, not self.is_held, self.uid


def choose_host(name: str, namespace: str, wanted: str | None, policy: ExposePolicy) -> str | None:
    """The host of a job: the one it asks for, else by its name below the class's domain; None when there is no domain."""
    if wanted:
        return wanted
    return names.default_host(name, namespace, policy.domain) if policy.domain else None


def find_conflict(mine: Claim, claims: Iterable[Claim], ingresses: Iterable[Object]) -> str | None:
    """Who has the host that `mine` claims, as a sentence; None when nobody does.

    Ingresses that are not Nestor's always come first; among jobs the older one keeps the host.
    """
    for ingress in ingresses:
        meta = ingress["metadata"]
        owner = (meta.get("labels") or {}).get(labels.JOB_UID)
        if owner is None and mine.host in hosts_of(ingress):
            return f"host '{mine.host}' is taken by Ingress '{meta['name']}' in namespace '{meta.get('namespace')}'"
    older = [claim for claim in claims if claim.host == mine.host and claim.uid != mine.uid and claim.rank < mine.rank]
    if older:
        first = min(older, key=lambda claim: claim.rank)
        return f"host '{mine.host}' is taken by the older job '{first.job}' in namespace '{first.namespace}'"
    return None


def hosts_of(ingress: Object) -> set[str]:
    """All hosts that an Ingress has rules for."""
    return {entry["host"] for entry in (ingress.get("spec") or {}).get("rules") or () if entry.get("host")}
