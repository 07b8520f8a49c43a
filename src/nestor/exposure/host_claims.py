"""Which hosts a job claims, and who has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nestor.api import labels
from nestor.objects import Object, labels_of, spec_of


@dataclass(frozen=True)
class HostClaim:
    """One job's wish for a host.

    A job that has the host by its name wins, else the older one; of two of the same second the one that has it already, or the
    lower UID.
    """

    host: str
    job: str
    namespace: str
    uid: str
    created: str
    is_held: bool = False
    """An Ingress of the job has the host now."""
    is_default: bool = False
    """The job has this host by its name: nobody may squat it."""

    @property
    def rank(self) -> tuple[bool, str, bool, str]:
        """Sorts winners first."""
        return not self.is_default, self.created, not self.is_held, self.uid


def find_conflicts(
    mine: Sequence[HostClaim], claims: Iterable[HostClaim], ingresses: Iterable[Object], home: str
) -> dict[str, str]:
    """Who has the hosts that a job claims by `mine`: a sentence for each host that is somebody else's.

    Ingresses that no job is exposed by always come first, except those in `home`, the job's own namespace: cert-manager proves
    there, for the job, that the host is its. Among jobs the one that has the host by its name, or the older one, keeps it.
    """
    if not mine:
        return {}
    found = _find_foreign(mine, ingresses, home)
    wanted = {claim.host: claim for claim in mine}
    for rival in sorted(claims, key=lambda claim: claim.rank):
        claim = wanted.get(rival.host)
        if claim and rival.uid != claim.uid and rival.rank < claim.rank:
            found.setdefault(claim.host, _explain(claim, rival))
    return found


def _find_foreign(mine: Sequence[HostClaim], ingresses: Iterable[Object], home: str) -> dict[str, str]:
    """By Ingresses of others; a wildcard's stands for one label."""
    covered = defaultdict(list)
    for claim in mine:
        for rule in (claim.host, f"*.{claim.host.partition('.')[2]}"):
            covered[rule].append(claim.host)
    found: dict[str, str] = {}
    for ingress in ingresses:
        meta = ingress["metadata"]
        if find_exposed_job(ingress) or meta.get("namespace") == home:
            continue
        for host in (host for rule in hosts_of(ingress) for host in covered.get(rule, ())):
            found.setdefault(host, f"host '{host}' is taken by Ingress '{meta['name']}' in namespace '{meta.get('namespace')}'")
    return found


def find_exposed_job(ingress: Object) -> str | None:
    """UID of the job that the operator exposes by this Ingress. None: it is a user's, or a tenant's that a syncer carried.

    Before they had a component of their own, the operator's Ingresses were the only ones with a job's UID: those are still its.
    """
    own = labels_of(ingress)
    if labels.NESTED_UID in own or own.get(labels.COMPONENT, labels.COMPONENT_EXPOSURE) != labels.COMPONENT_EXPOSURE:
        return None
    return own.get(labels.JOB_UID)


def _explain(mine: HostClaim, rival: HostClaim) -> str:
    if rival.is_default and not mine.is_default:
        return f"host '{mine.host}' belongs, by its name, to job '{rival.job}' in namespace '{rival.namespace}'"
    return f"host '{mine.host}' is taken by the older job '{rival.job}' in namespace '{rival.namespace}'"


def hosts_of(ingress: Object) -> set[str]:
    """All hosts that an Ingress has rules for."""
    return {entry["host"] for entry in spec_of(ingress).get("rules") or () if entry.get("host")}
