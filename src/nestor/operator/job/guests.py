"""The guests, in the order in which each moment asks them. What leaves this list, and its folder, has left the product."""

from nestor.operator.guest import Guest
from nestor.operator.guests.argocd import ArgoCD
from nestor.operator.guests.boost import StartBoost
from nestor.operator.guests.changed_inputs import ChangedInputs
from nestor.operator.guests.enforcement.keeper import Enforcement
from nestor.operator.guests.gangs.keeper import GangKeeper
from nestor.operator.guests.gateway import Gateway
from nestor.operator.guests.kueue.keeper import Kueue
from nestor.operator.guests.notices import Outbox
from nestor.operator.guests.pool.keeper import Pools
from nestor.operator.guests.queue.queues import Queue
from nestor.operator.guests.retained.keeper import Retain
from nestor.operator.guests.sleep.keeper import Sleep

GUESTS: tuple[type[Guest], ...] = (
    Enforcement,  # before the queues: a job that may never start takes nobody's place
    Sleep,  # nor does one that falls asleep
    Queue,
    Kueue,  # after ours: what it gives, the job has
    Retain,
    StartBoost,
    Gateway,
    ArgoCD,
    ChangedInputs,
    Outbox,  # last of those that write: it tells of what the others have said
    GangKeeper,
    Pools,  # last: when a job gets a cluster, its pass begins anew
)
