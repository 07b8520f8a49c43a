"""Who made a job, and what keeps it as it is. Pure."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, labels_of


def owner_of(job: Object) -> str:
    """Who made the job; empty if nobody has recorded it."""
    return str(annotations_of(job).get(labels.CREATED_BY) or "")[:200]


_KEEPERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
}
"""Labels and annotations of what makes objects by files that it has."""


def find_keeper(job: Object) -> str:
    """What keeps the job as files say, and may undo what is changed here; empty if nothing is known to."""
    marks = {**labels_of(job), **annotations_of(job)}
    return next((name for key, name in _KEEPERS.items() if marks.get(key)), "")
