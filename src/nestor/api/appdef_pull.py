"""With which Secret an app image is pulled: the job's own, or that of its entry in the catalog. Pure."""

from __future__ import annotations

from typing import NamedTuple

from nestor.api.objects import Object

PULL_TYPES = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")


class PullSecret(NamedTuple):
    """A Secret to be copied to where the image is pulled, and the field that names it."""

    name: str
    namespace: str
    field: str


def choose_pull_secret(
    jobs: str | None, job_namespace: str, entry_secret: str | None, operator_namespace: str, *, entry: str = ""
) -> PullSecret | None:
    """`jobs`: the job's `app.imagePullSecretName`, in its namespace. `entry_secret`: the NestedApp `entry`'s, in the operator's.

    An entry's Secret is nowhere else: whoever may write entries must not have Secrets used that he may not read himself.
    """
    if entry:
        return (
            PullSecret(entry_secret, operator_namespace, f"NestedApp '{entry}': `imagePullSecretName`") if entry_secret else None
        )
    return PullSecret(jobs, job_namespace, "`app.imagePullSecretName`") if jobs else None


def find_pull_secret_fault(wanted: PullSecret, found: Object | None) -> str | None:
    """Why the Secret cannot be used, in a sentence that names the field; None if it can. `found`: the Secret, if there is one."""
    where = f"Secret '{wanted.name}' in namespace '{wanted.namespace}'"
    if found is None:
        return f"{wanted.field}: no {where}"
    if found.get("type") not in PULL_TYPES:
        return f"{wanted.field}: {where} has type '{found.get('type')}'; it must be one of {', '.join(PULL_TYPES)}"
    return None
