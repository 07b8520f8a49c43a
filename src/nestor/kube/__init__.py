"""The only package that talks to an API server, the host's or a nested one.

Objects are plain dictionaries as they travel on the wire: the syncer must carry fields that no model of ours knows.
`client` sends requests, `informer` keeps a cache by a watch, `applier` writes what differs, `queue` works on keys with back-off;
`election`, `events` and `pace` are for whole processes. A kind that Nestor has not used yet is a line in `kinds`.
Belongs here: requests, watches, caches, work queues, events, errors. Does not: any decision about what to write.
"""

from nestor.kube.client import Api
from nestor.kube.credentials import UserContext, read_context
from nestor.kube.errors import ApiError, Conflict, Forbidden, Gone, Invalid, NotFound, Unreachable
from nestor.kube.informer import Change, Informer
from nestor.kube.kinds import Kind
from nestor.kube.queue import RetryLater, WorkQueue

__all__ = [
    "Api",
    "ApiError",
    "Change",
    "Conflict",
    "Forbidden",
    "Gone",
    "Informer",
    "Invalid",
    "Kind",
    "NotFound",
    "RetryLater",
    "Unreachable",
    "UserContext",
    "WorkQueue",
    "read_context",
]
