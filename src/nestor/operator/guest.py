"""`Guest`: a feature that takes part in the passes over jobs, and leaves with its folder and its line in `job/guests.py`.

Guests do not know each other. What two of them need is below them: in `admission`, `lifecycle` or `world`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.cluster.exposure.routes import Route
from nestor.cluster.home import Home
from nestor.kube import Forbidden, Informer, Invalid, Kind, WorkQueue
from nestor.kube.serving.pages import Family
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Denial, JobIdentity
from nestor.operator.admission.turn import Turn
from nestor.operator.world.context import Context, read_refusal

Routes = tuple[Route, ...]


@dataclass(frozen=True)
class Word:
    """What a guest has to say of an admitted job."""

    details: Object = field(default_factory=dict)
    """Fields of the job's status; None takes one away."""
    remark: tuple[str, str] | None = None
    """A reason and a text for `Admitted`."""
    note: str = ""
    """What the user should know even though the cluster is fine."""
    retry_after: float | None = None
    """In how many seconds to look again, at the latest."""


class Guest:
    """The moments of a pass, in their order. Each does nothing unless the guest says otherwise.

    Caches keep labels and annotations of ours, and few others (`world.trim`).
    """

    informers: Sequence[Informer] = ()
    """Caches of its own that it runs itself."""
    queue: WorkQueue[Any] | None = None
    """A queue of its own that it runs itself."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self) -> None:
        """What it does beside the passes, once every cache is filled. May end."""

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        """A pass begins, over any job: another controller's, one that is being deleted, one that is gone."""

    async def admit(self, known: JobIdentity) -> Turn | Denial | None:
        """Before the AppDef is read: whether the job may run. None: it has no objection, and nothing to give."""

    async def begin(self, resolved: Resolved) -> Denial | None:
        """Before a job starts with an empty cluster."""

    async def expose(self, resolved: Resolved, routes: Routes) -> tuple[Routes, Collection[str]] | None:
        """In place of Ingresses: the routes with what is said of them, and names of Ingresses that stay meanwhile."""

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        """Together with the server's pod. `home.nodes_binding_owner` refers to the job's Namespace, with its UID.

        Add to objects that others of the operator apply by a patch: an apply takes away what it leaves out.
        """

    def report(self, resolved: Resolved) -> Word | None:
        """After the children were looked at."""

    def deny(self, job: Object, denial: Denial) -> Denial:
        """The job is not admitted, by whomever. What its user is told may be made complete."""
        return denial

    def complete(self, job: Object, status: Object) -> Object:
        """A status that is to be written."""
        return status

    def take(self, job: Object, status: Object) -> None:
        """It is written, or was as it should be."""

    async def follow(self, job: Object) -> None:
        """The pass is over, without an error. `job` is as it was before; the cache has the status that was written."""

    async def spare(self, namespace: Object) -> None:
        """Before the application's volumes in a job's namespace are deleted."""

    async def leave(self, job: Object, home: Home) -> str | None:
        """Before a job that is being deleted loses anything. What could not be done, for its user."""

    def forget(self, uid: str) -> None:
        """The job with that UID is being deleted, or its namespace was."""

    def judge(self, item: Object, policy: NestedClassSpec) -> Condition | None:
        """In a pass over a class: what its status is to say. None: what it says already."""

    def measure(self) -> Iterable[Family]:
        """What Prometheus is told."""
        return ()


async def ensure_route(
    context: Context, resolved: Resolved, route: Route, kind: Kind, build: Callable[..., Object]
) -> tuple[Route, Object | None]:
    """An Ingress or HTTPRoute, if the route is open. A refusal by the host is in the returned route."""
    if route.host is None or not route.is_open:
        return route, None
    own = resolved.home.labels | {labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    policy = resolved.find_expose_policy(route, context.cache.find_service(route, resolved.home.namespace))
    body = build(route.ingress, resolved.home.namespace, own, route.host, route.target, policy)
    try:
        return route, await context.applier.ensure(kind, body)
    except (Forbidden, Invalid) as error:
        message = f"the host cluster refuses the {kind.name} for host '{route.host}': {read_refusal(error)}"
        return replace(route, refusal=(conditions.INGRESS_REFUSED, message), is_kept=False), None


async def spare_volumes(guests: Iterable[Guest], namespace: Object) -> None:
    """Have the guests keep what is to outlive the claims in a job's namespace."""
    for guest in guests:
        await guest.spare(namespace)
