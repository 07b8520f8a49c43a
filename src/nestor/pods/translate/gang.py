"""What host pods have of their gang: how Nestor holds them, lets them go and takes them back, or their PodGroup of the host's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from nestor.api import data, labels, names, times
from nestor.api.objects import Object, annotations_of, find_job, labels_of
from nestor.api.observed import GangStatus
from nestor.api.placement import GANG_LIMIT, Gang, GangSource
from nestor.pods.translate.node_rules import REQUIRED, list_required
from nestor.pods.translate.placement import Place
from nestor.pods.translate.target import Target

GATE = {"name": labels.GANG}
"""Holds a host pod until its gang is let go."""

WAITING = "GangWaiting"
"""Reason of a nested pod's condition and event: its gang waits until one place has room for all of it."""
TAKEN_BACK = "GangTakenBack"
"""Reason of a nested pod that failed because its gang could not start as a whole."""


def join_host(host: Object, membership: Membership, rules: Gang) -> Object:
    """The host pod as one of its gang: in the PodGroup of that, or held until the gang is let go."""
    if rules.scheduler == "Kubernetes":
        return host | {"spec": host["spec"] | {"schedulingGroup": {"podGroupName": name_group(membership)}}}
    meta = host["metadata"]
    joined = {
        "labels": {**meta["labels"], labels.GANG: membership.key},
        "annotations": {**meta["annotations"], labels.GANG_NAME: membership.title, labels.GANG_SIZE: str(membership.size)},
    }
    return host | {"metadata": meta | joined, "spec": host["spec"] | {"schedulingGates": [GATE]}}


def is_held(host: Object) -> bool:
    return GATE in (host["spec"].get("schedulingGates") or [])


def build_release(host: Object, entry: GangStatus) -> Object:
    """A strategic merge patch that lets a held host pod go, to its gang's place alone.

    API servers let the gates of a pod only be removed, and its node affinity only be narrowed, term by term.
    """
    wanted = [data.write(item) for item in entry.nodes]
    spec: Object = {"schedulingGates": [{"$patch": "delete", **GATE}]}
    if wanted:
        terms = [narrow(term, wanted) for term in list_required(host["spec"])] or [{"matchExpressions": wanted}]
        spec["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    notes = {labels.GANG_ROUND: str(entry.round), labels.PLACE_REASON: entry.message}
    return {"metadata": {"annotations": notes}, "spec": spec}


def narrow(term: Object, wanted: list[Object]) -> Object:
    """A term with further requirements. One without any matches no node, and stays so."""
    if not term.get("matchExpressions") and not term.get("matchFields"):
        return term
    return term | {"matchExpressions": [*(term.get("matchExpressions") or []), *wanted]}


def is_taken_back(host: Object, entry: GangStatus | None) -> bool:
    """Whether the host pod was let go in a round that has failed since."""
    text = annotations_of(host).get(labels.GANG_ROUND, "")
    if entry is None or entry.state != "Waiting" or is_held(host) or not text.isdecimal():
        return False
    return int(text) < entry.round


def explain_wait(host: Object, entry: GangStatus | None) -> str:
    if entry is not None and entry.state == "Waiting" and entry.message:
        return entry.message
    title, size = (annotations_of(host).get(key, "") for key in (labels.GANG_NAME, labels.GANG_SIZE))
    return f"waiting for a place with room for all {size} pods of gang '{title}'"


def keep_together(place: Place) -> Place:
    """The place of a pod whose gang the host's scheduler holds together. It knows no places: there may be one only."""
    if place.where == "HostFirst":
        return Place("Host", "the host cluster's scheduler holds its gang together")
    return Place(place.where, place.reason, tuple(sorted(place.backends, key=lambda item: -item.weight)[:1]))


def name_group(membership: Membership) -> str:
    """The name of a gang's PodGroup, whatever characters users have put into that of the gang."""
    readable = re.sub("[^a-z0-9]+", "-", membership.title.lower()).strip("-")
    return names.join_limited([readable], membership.key)


def build_group(membership: Membership, target: Target) -> Object:
    """The PodGroup of a gang that the host's scheduler holds together."""
    marks = {**target.labels, labels.MANAGED_BY: "nestor", **target.scope(None), labels.GANG: membership.key}
    return {
        "metadata": {
            "name": name_group(membership),
            "namespace": target.namespace,
            "labels": marks,
            "ownerReferences": [{key: value for key, value in target.owner.items() if key != "controller"}],
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": membership.size}}},
    }


def find_group(host: Object) -> str:
    """The PodGroup that a host pod is in; empty if none."""
    return (host["spec"].get("schedulingGroup") or {}).get("podGroupName") or ""


def read_entries(cluster: Object | None) -> Mapping[str, GangStatus]:
    found = ((cluster or {}).get("status") or {}).get("gangs") or []
    entries = {}
    for item in found:
        with contextlib.suppress(ValueError):  # another version's: it is decided anew
            entry = data.read(GangStatus, item)
            for text in filter(None, (entry.since, entry.retry_time)):
                times.read(text)
            entries[entry.name] = entry
    return entries


JOBSET = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_INDEX = "batch.kubernetes.io/job-completion-index"

_NAME_LIMIT = 253
"""Characters: annotations may have many thousands."""


@dataclass(frozen=True)
class Claim:
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
    notes, own, namespace, job = annotations_of(pod), labels_of(pod), pod["metadata"]["namespace"], find_job(pod).get("name", "")
    found = []
    if mine := find_name(pod):
        size = read_size(_find_size(pod))
        found.append(Claim("Annotation", namespace, mine, size, "" if size else job))
    if group := (pod["spec"].get("schedulingGroup") or {}).get("podGroupName"):
        found.append(Claim("PodGroup", namespace, group, None, group))
    if _EXCLUSIVE in notes:
        return found  # JobSet makes its other pods when the first one has a node
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
    if said is None and not find_job(pod):
        return [
            f"annotation `{labels.GANG_SIZE}` must be set: the pod is no Job's, so nothing else says how many pods its gang has"
        ]
    return []


def find_name(pod: Object) -> str:
    """The gang that the pod names in Nestor's own way; empty if none."""
    return annotations_of(pod).get(labels.GANG) or labels_of(pod).get(labels.GANG, "")


def _find_size(pod: Object) -> str | None:
    return annotations_of(pod).get(labels.GANG_SIZE) or labels_of(pod).get(labels.GANG_SIZE)


def read_size(text: object) -> int | None:
    """The size of a gang as somebody wrote it; None if it is none."""
    written = str(text)
    return int(written) if written.isdecimal() and len(written) < 6 and 1 <= int(written) <= GANG_LIMIT else None


def join(claim: Claim, said: Object | None) -> Membership | None:
    """The pod's gang. `said`: the object that says its size, if the claim needs one. None: the pod is in no gang after all."""
    size, name = claim.size, claim.name
    if size is None and said is not None:
        if claim.source == "JobSet":
            size, is_whole = _measure_jobset(said, claim.part)
            name = claim.name if is_whole else f"{claim.name}-{claim.part}"
        elif claim.source == "PodGroup":
            policy = (said.get("spec") or {}).get("schedulingPolicy") or {}
            size = read_size((policy.get("gang") or {}).get("minCount"))
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
