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
    """One job's wish for a host.

    The job that has the host by its name wins, else the older one; of two of the same second the one that has it already, or the
    lower UID.
    """

    host: str
    job: str
    namespace: str
    uid: str
    created: str
    is_held: bool = False
    """Its Ingress has the host now."""

    @property
    def is_default(self) -> bool:
        """Whether the job has this host by its name: nobody may squat it."""
        return self.host == names.default_host(self.job, self.namespace, self.host.partition(".")[2])

    @property
    def rank(self) -> tuple[bool, str, bool, str]:
        """Sorts winners first."""
        return not self.is_default, self.created, not self.is_held, self.uid


def choose_host(name: str, namespace: str, wanted: str | None, policy: ExposePolicy) -> str | None:
    """The host of a job: the one it asks for, else by its name below the class's domain.

    None when it may not have the one it asks for, or there is no domain.
    """
    if wanted:
        return wanted if is_allowed(wanted, policy) else None
    return names.default_host(name, namespace, policy.domain) if policy.domain else None


def is_allowed(host: str, policy: ExposePolicy) -> bool:
    """Whether jobs of the class may ask for this host; any, where the class bounds nothing."""
    patterns = _list_allowed(policy)
    return not patterns or any(host.endswith(item[1:]) if item.startswith("*.") else host == item for item in patterns)


def explain_not_allowed(host: str, class_name: str, policy: ExposePolicy) -> str:
    """What is allowed instead, as a sentence."""
    known = ", ".join(f"'{item}'" for item in _list_allowed(policy))
    return f"`expose.host` '{host}' is not allowed by class '{class_name}'; allowed: {known}"


def _list_allowed(policy: ExposePolicy) -> list[str]:
    return [*([f"*.{policy.domain}"] if policy.domain else []), *policy.allowed_hosts]


def find_conflict(mine: Claim, claims: Iterable[Claim], ingresses: Iterable[Object]) -> str | None:
    """Who has the host that `mine` claims, as a sentence; None when nobody does.

    Ingresses that are not Nestor's always come first, except those in the job's own namespace: cert-manager proves there, for the
    job, that the host is its. Among jobs the one that has the host by its name, or the older one, keeps it.
    """
    home = names.job_namespace(mine.job, mine.namespace, mine.uid)
    for ingress in ingresses:
        meta = ingress["metadata"]
        owner = (meta.get("labels") or {}).get(labels.JOB_UID)
        if owner is None and meta.get("namespace") != home and not _cover(mine.host).isdisjoint(hosts_of(ingress)):
            return f"host '{mine.host}' is taken by Ingress '{meta['name']}' in namespace '{meta.get('namespace')}'"
    older = [claim for claim in claims if claim.host == mine.host and claim.uid != mine.uid and claim.rank < mine.rank]
    if older:
        first = min(older, key=lambda claim: claim.rank)
        if first.is_default and not mine.is_default:
            return f"host '{mine.host}' belongs, by its name, to job '{first.job}' in namespace '{first.namespace}'"
        return f"host '{mine.host}' is taken by the older job '{first.job}' in namespace '{first.namespace}'"
    return None


def _cover(host: str) -> set[str]:
    """The hosts of Ingress rules that take requests to this host; a wildcard stands for one label."""
    return {host, f"*.{host.partition('.')[2]}"}


def hosts_of(ingress: Object) -> set[str]:
    """All hosts that an Ingress has rules for."""
    return {entry["host"] for entry in (ingress.get("spec") or {}).get("rules") or () if entry.get("host")}
