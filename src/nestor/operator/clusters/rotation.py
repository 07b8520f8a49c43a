"""Tells users whether the rotation of keys that they asked for took place."""

from __future__ import annotations

from nestor.api import labels
from nestor.cluster.home import Home
from nestor.kube import kinds
from nestor.operator.world.context import Context

_NOT_ROTATED = (
    f"`{labels.ROTATE}` has no effect, because an earlier version of Nestor made this cluster: delete the job and create it again"
)


async def tell_rotation(context: Context, home: Home) -> None:
    """One event for each rotation that was asked for, about the job, once it is done or impossible."""
    is_done = context.provisioner.take_rotation(home)
    if is_done is None:
        return
    own, kind = home.labels, kinds.NESTED_APP_JOB
    meta = {"name": own[labels.JOB], "namespace": own[labels.JOB_NAMESPACE], "uid": own[labels.JOB_UID]}
    about = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta}
    if is_done:
        message = "earlier kubeconfigs and certificates end within about a minute; the Secret with the kubeconfig has a new one"
        await context.events.post(about, "Normal", "KeysRotated", message)
    else:
        await context.events.post(about, "Warning", "KeysNotRotated", _NOT_ROTATED)


def find_rotation_problem(context: Context, home: Home) -> str | None:
    """Why the rotation that the annotation asks for has no effect; None if it has, or if there is no annotation."""
    return _NOT_ROTATED if home.rotation and not context.provisioner.can_rotate(home) else None
