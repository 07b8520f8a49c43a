"""Which hosts a job claims, and who owns them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, labels_of, spec_of

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
"""How Ingresses named their class before `spec.ingressClassName`; controllers still obey it."""

HOSTS = "hosts"
"""In a cached Ingress that is not ours: its hosts, as lines of one text, instead of `spec.rules`. It may have very many."""

Homes = Mapping[str, str]
"""The namespaces of all known jobs, each with the job's UID."""


@dataclass(frozen=True)
class HostClaim:
    """One job's claim to a host.

    The job whose default host it is wins, then the older one. Of two jobs from the same second, the one that already holds the
    host wins, then the lower UID.
    """

    host: str
    job: str
    namespace: str
    uid: str
    created: str
    held_since: str = ""
    """When the job's Ingress for the host was created; empty if it has none."""
    is_default: bool = False
    """It is the job's default host, which nobody else may take."""

    @property
    def is_held(self) -> bool:
        """An Ingress of the job currently has the host."""
        return bool(self.held_since)

    @property
    def rank(self) -> tuple[bool, str, bool, str]:
        """Sorts winners first."""
        return not self.is_default, self.created, not self.is_held, self.uid


def find_rivals(mine: Sequence[HostClaim], claims: Iterable[HostClaim]) -> dict[str, str]:
    """Which other jobs own the hosts that a job claims (`mine`): a message for each such host."""
    if not mine:
        return {}
    found: dict[str, str] = {}
    wanted = {claim.host: claim for claim in mine}
    for rival in sorted(claims, key=lambda claim: claim.rank):
        claim = wanted.get(rival.host)
        if claim and rival.uid != claim.uid and rival.rank < claim.rank:
            found.setdefault(claim.host, _explain(claim, rival))
    return found


def find_foreign(
    mine: Sequence[HostClaim], ingresses: Iterable[Object], homes: Homes, class_name: str | None = None
) -> dict[str, str]:
    """Which foreign Ingresses have the hosts that a job claims (`mine`): a message for each such host.

    A host that the job already has is only lost to Ingresses older than its own, because controllers prefer the older one.
    Wildcards never count: controllers prefer the exact host. Nor do Ingresses of another class than `class_name`, or those in the
    job's own namespace, where cert-manager's solver proves that the job controls the host.
    """
    wanted = {claim.host: claim for claim in mine}
    found: dict[str, str] = {}
    for ingress in ingresses if wanted else ():
        claims = [wanted[host] for host in _find_hosts(ingress, wanted)]
        if not claims or find_exposed_job(ingress, homes) or not _may_share_class(ingress, class_name):
            continue
        meta = ingress["metadata"]
        where = f"Ingress '{meta['name']}' in namespace '{meta.get('namespace')}'"
        for claim in claims:
            if homes.get(meta.get("namespace", "")) == claim.uid:
                continue
            if not claim.is_held:
                found.setdefault(claim.host, f"host '{claim.host}' is taken by {where}")
            elif meta.get("creationTimestamp", "") < claim.held_since:
                said = f"{where} has host '{claim.host}' too and is older, so it may get the traffic"
                found.setdefault(claim.host, said)
    return found


def _may_share_class(ingress: Object, class_name: str | None) -> bool:
    """Whether one controller may serve this Ingress and those of the class. Without a name, it is the cluster's default class."""
    other = annotations_of(ingress).get(CLASS_ANNOTATION) or spec_of(ingress).get("ingressClassName")
    return not (other and class_name) or other == class_name


def find_exposed_job(ingress: Object, homes: Homes) -> str | None:
    """UID of the job that the operator exposes with this Ingress. None: it is a user's, or a tenant's, copied by a syncer.

    It must be in the job's own namespace: anybody can set labels.
    """
    own = labels_of(ingress)
    if labels.NESTED_UID in own or own.get(labels.COMPONENT) != labels.COMPONENT_EXPOSURE:
        return None
    uid = own.get(labels.JOB_UID)
    return uid if uid and homes.get(ingress["metadata"].get("namespace", "")) == uid else None


def _explain(mine: HostClaim, rival: HostClaim) -> str:
    if rival.is_default and not mine.is_default:
        return f"host '{mine.host}' is the default host of job '{rival.job}' in namespace '{rival.namespace}'"
    return f"host '{mine.host}' is taken by the older job '{rival.job}' in namespace '{rival.namespace}'"


def hosts_of(item: Object) -> set[str]:
    """All hosts that an Ingress has rules for, or an HTTPRoute is for."""
    spec = spec_of(item)
    found = {entry["host"] for entry in spec.get("rules") or () if entry.get("host")} | set(spec.get(HOSTS, "").split())
    return found | set(spec.get("hostnames") or ())


def _find_hosts(ingress: Object, wanted: Collection[str]) -> Collection[str]:
    """Those of the wanted hosts that an Ingress has, without listing them all."""
    if text := spec_of(ingress).get(HOSTS):
        return [host for host in wanted if f"\n{host}\n" in text]
    return hosts_of(ingress) & set(wanted)
