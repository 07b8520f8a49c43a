"""Which gang a nested pod is in, and how many pods that has to have, by what users write."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, labels_of, owners_of
from nestor.api.placement import GANG_LIMIT, Gang, GangSource

JOBSET = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
_INDEX = "batch.kubernetes.io/job-completion-index"

_NAME_LIMIT = 253
"""Characters: annotations may have many thousands."""


@dataclass(frozen=True)
class Claim:
    """What a nested pod says of its gang."""

    source: GangSource
    namespace: str
    name: str
    size: int | None = None
    """None: the Job, JobSet or PodGroup named `ref` says it."""
    ref: str = ""
    part: str = ""
    """The part of that object, if a part alone may be a gang."""


@dataclass(frozen=True)
class Membership:
    """The gang of a pod."""

    key: str
    """The same for all of its pods, and for no others of the cluster."""
    title: str
    """Namespace and name, for people."""
    size: int


def find_claim(pod: Object, gang: Gang) -> Claim | None:
    """The gang that the pod says it is in; None if in none, or if its class does not look for such."""
    for claim in _list_claims(pod):
        if claim.source in gang.groups:
            return claim
    return None


def _list_claims(pod: Object) -> list[Claim]:
    notes, own, namespace, job = annotations_of(pod), labels_of(pod), pod["metadata"]["namespace"], _find_job(pod)
    found = []
    if mine := find_name(pod):
        size = read_size(_find_size(pod))
        found.append(Claim("Annotation", namespace, mine, size, "" if size else job))
    if group := (pod["spec"].get("schedulingGroup") or {}).get("podGroupName"):
        found.append(Claim("PodGroup", namespace, group, None, group))
    if jobset := own.get(JOBSET):
        # All its pods are made anew on a restart: these are another gang.
        attempt = f"{jobset}-{own.get(_ATTEMPT, '0')}"
        found.append(Claim("JobSet", namespace, attempt, None, jobset, own.get(_REPLICATED_JOB, "")))
    if _INDEX in notes and job:
        found.append(Claim("IndexedJob", namespace, job, None, job))
    return found


def find_faults(pod: Object, gang: Gang) -> list[str]:
    """One message per part of what the pod says of its gang that cannot be read."""
    said = _find_size(pod)
    if not find_name(pod) or "Annotation" not in gang.groups:
        return []
    if len(find_name(pod)) > _NAME_LIMIT:
        return [f"annotation `{labels.GANG}` must have at most {_NAME_LIMIT} characters"]
    if said is not None and read_size(said) is None:
        return [f"annotation `{labels.GANG_SIZE}` must be a whole number from 1 to {GANG_LIMIT}, not '{said[:20]}'"]
    if said is None and not _find_job(pod):
        return [
            f"annotation `{labels.GANG_SIZE}` must be set: the pod is no Job's, so nothing else says how many pods its gang has"
        ]
    return []


def find_name(pod: Object) -> str:
    """The gang that the pod names in Nestor's own way; empty if none."""
    return annotations_of(pod).get(labels.GANG) or labels_of(pod).get(labels.GANG, "")


def _find_size(pod: Object) -> str | None:
    return annotations_of(pod).get(labels.GANG_SIZE) or labels_of(pod).get(labels.GANG_SIZE)


def _find_job(pod: Object) -> str:
    owner = next((item for item in owners_of(pod) if item.get("controller")), None)
    return str(owner["name"]) if owner and owner["kind"] == "Job" and owner["apiVersion"].startswith("batch/") else ""


def read_size(text: object) -> int | None:
    """The size of a gang as somebody wrote it; None if it is none."""
    written = str(text if text is not None else "")
    return (
        int(written) if written.isascii() and written.isdigit() and len(written) < 6 and 1 <= int(written) <= GANG_LIMIT else None
    )


def join(claim: Claim, said: Object | None) -> Membership | None:
    """The pod's gang. `said`: the object that says its size, if the claim needs one. None: the pod is in no gang after all."""
    size, name = claim.size, claim.name
    if size is None and said is not None:
        if claim.source == "JobSet":
            size, is_whole = _measure_jobset(said, claim.part)
            name = claim.name if is_whole else f"{claim.name}-{claim.part}"
        elif claim.source == "PodGroup":
            size = _measure_group(said)
        else:
            size = _measure_job(said, is_whole=claim.source == "IndexedJob")
    if size is None or not 1 <= size <= GANG_LIMIT:
        return None
    key = names.digest(claim.namespace, claim.source, name, length=16)
    return Membership(key, f"{claim.namespace}/{name[:_NAME_LIMIT]}", size)


def _measure_job(job: Object, *, is_whole: bool) -> int | None:
    """How many pods of a Job run at a time from now on. `is_whole`: None unless it runs all of them at a time."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    parallelism, completions = int(spec.get("parallelism", 1)), spec.get("completions")
    if is_whole and (completions is None or parallelism < int(completions)):
        return None
    left = int(completions) - int(status.get("succeeded") or 0) if completions is not None else parallelism
    return max(1, min(parallelism, left))


def _measure_jobset(jobset: Object, part: str) -> tuple[int | None, bool]:
    """How many pods the JobSet has, and that it is one gang; or those of one of its Jobs, if these start one after another."""
    spec = jobset.get("spec") or {}
    jobs = spec.get("replicatedJobs") or []
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder" or any(
        item.get("dependsOn") for item in jobs
    )
    counted = [item for item in jobs if not in_order or item.get("name") == part]
    return sum(_measure_replicas(item) for item in counted) or None, not in_order


def _measure_replicas(item: Object) -> int:
    spec = (item.get("template") or {}).get("spec") or {}
    parallelism = int(spec.get("parallelism", 1))
    return int(item.get("replicas", 1)) * min(parallelism, int(spec.get("completions", parallelism)))


def _measure_group(group: Object) -> int | None:
    """The least number of pods of a PodGroup; None if it is no gang."""
    policy = (group.get("spec") or {}).get("schedulingPolicy") or {}
    return read_size((policy.get("gang") or {}).get("minCount"))
