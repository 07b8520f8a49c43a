"""Tells users whether the rotation of keys that they asked for took place."""

from __future__ import annotations

from nestor.api import labels
from nestor.cluster.home import Home
from nestor.kube import kinds
from nestor.objects import Object
from nestor.operator.world.context import Context


async def tell_rotation(context: Context, home: Home) -> None:
    """One event for each rotation that was asked for, about the job or the user's cluster, once it is done or impossible."""
    is_done = context.provisioner.take_rotation(home)
    if is_done is None:
        return
    about = _find_subject(home)
    if is_done:
        message = "earlier kubeconfigs and certificates end within about a minute; the Secret with the kubeconfig has a new one"
        await context.events.post(about, "Normal", "KeysRotated", message)
    else:
        await context.events.post(about, "Warning", "KeysNotRotated", _explain(home))


def find_rotation_problem(context: Context, home: Home) -> str | None:
    """Why the rotation that the annotation asks for has no effect; None if it has, or if there is no annotation."""
    return _explain(home) if home.rotation and not context.provisioner.can_rotate(home) else None


def _explain(home: Home) -> str:
    made = "cluster" if home.owner else "job"
    return (
        f"`{labels.ROTATE}` has no effect, because an earlier version of Nestor made this cluster: "
        f"delete the {made} and create it again"
    )


def _find_subject(home: Home) -> Object:
    """What the user annotated."""
    if home.owner:
        kind, meta = kinds.NESTED_CLUSTER, {"name": home.name, "namespace": home.namespace, "uid": home.owner["uid"]}
    else:
        own = home.labels
        kind = kinds.NESTED_APP_JOB
        meta = {"name": own[labels.JOB], "namespace": own[labels.JOB_NAMESPACE], "uid": own[labels.JOB_UID]}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta}
