"""What is specific to one kind: a row of the engine.

A row is mostly data and pure functions, plus the few requests that only its kind needs (`settle`, `after_end`).
"""

import math
from collections.abc import Callable, Collection, Iterable
from typing import ClassVar, Literal

from nestor.api import labels, names
from nestor.api.objects import Object, labels_of
from nestor.api.policy import Policy
from nestor.kube import ApiError, Change, Informer, Invalid, Kind
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.target import nested_key
from nestor.syncer import limits
from nestor.syncer.copies.fields import Field
from nestor.syncer.copies.memory import Patience
from nestor.syncer.copies.references import References
from nestor.syncer.view.context import Context


class Row:
    """One kind. The source is the original object, the copy is its counterpart in the other cluster, and the key is the
    source's namespace and name.

    A subclass must define `kind`, `fields` and `build`; everything else has a default that suits most kinds. It needs rights on
    the host: `nestor-syncer` in the chart's `rbac.yaml` for kinds with a namespace, `nestor-syncer-nodes` for those without;
    copies in the host need a wall in `syncer-policy.yaml` as well.
    """

    kind: ClassVar[Kind]
    direction: ClassVar[Literal["Down", "Up"]] = "Down"
    """Down: nested objects are copied to the host. Up: host objects are copied into the nested cluster."""
    is_computed: ClassVar[bool] = False
    """Whether a source is not an object of the kind, but made by `find_source` from objects of other kinds."""
    fields: ClassVar[tuple[Field, ...]]
    """The fields of a copy that we own; all others are left alone."""
    ensures: ClassVar[Literal["Content", "Presence"]] = "Content"
    """What `Engine.ensure` guarantees: that the copy is up to date, or only that it exists."""
    refused: ClassVar[str] = ""
    """Reason of the event if a copy cannot be created. Empty: no event, because there is no object to attach it to."""
    ignored: ClassVar[str] = "FieldsIgnored"
    """Reason of the event if a copy leaves out something that its source's owner counts on."""
    fails_closed: ClassVar[bool] = False
    """Whether a copy that cannot be brought up to date is deleted, because it may allow what is not allowed any more."""
    follows_policy: ClassVar[bool] = False
    """Whether to look again at all sources when the class changes."""
    is_small: ClassVar[bool] = False
    """Whether a copy may only have `limits.OBJECT_BYTES`."""
    linger_seconds: ClassVar[float] = 0
    """How long a copy that is no longer wanted stays while its source exists."""
    lingering_most: ClassVar[float] = math.inf
    """How many copies may stay so at a time: with more, those that are no longer wanted go at once."""
    name: ClassVar[str] = ""
    """The queue's name; the kind's plural when empty."""

    def __init__(self, context: Context, references: References) -> None:
        self.context = context
        self.caches = context.caches
        nested, host = (context.nested, self.caches.nested), (context.host, self.caches.host)
        (self.source_api, sources), (self.copy_api, copies) = (nested, host) if self.direction == "Down" else (host, nested)
        self.sources: Informer | None = None if self.is_computed else sources(self.kind)
        """The cache of the sources; None if a source is computed from objects of other kinds."""
        self.copies: Informer = copies(self.kind)
        self.references = references
        self.wake: Callable[[Key], None] = lambda _key: None
        """Has the engine look at a key again, soon."""
        self.patience: Patience[Key] = Patience(40, 0.05)
        """With sources that pods need and that may come in a moment."""
        if self.direction == "Down":
            self.caches.copied_bytes.follow(self.copies)
        if self.follows_policy:
            self.caches.on_policy(self.wake_all)
        self.set_up()

    def set_up(self) -> None:
        """Name the caches and build the indexes that the row needs: later there are no new ones. Subscribe to other objects that
        copies depend on, and `wake` affected keys; find them by an index.
        """

    @property
    def policy(self) -> Policy:
        return self.caches.policy

    # Which objects there are

    @property
    def read(self) -> Iterable[Informer]:
        """The caches by which is decided whether there are sources and copies: until they are full, nothing is done."""
        return [cache for cache in (self.sources, self.copies) if cache is not None]

    def find_source(self, key: Key) -> Object | None:
        return self.sources.get(key[1], key[0]) if self.sources is not None else None

    def may_be_uncached(self, key: Key, copy: Object | None) -> bool:
        """Whether the cache may not have a source that exists: it is asked for before its copy is taken for an orphan."""
        return copy is not None

    def copy_key(self, key: Key) -> Key:
        if self.direction == "Up":
            return key
        name = names.host_name(key[1], key[0])
        return (self.context.target.namespace, name) if self.kind.namespaced else ("", name)

    def find_copy(self, key: Key) -> Object | None:
        """What has the name of a source's copy, from the cache."""
        namespace, name = self.copy_key(key)
        return self.copies.get(name, namespace)

    def source_key(self, copy: Object) -> Key | None:
        """The key of a copy's source; None if the object belongs to another row or to a controller."""
        if self.direction == "Up":
            return key_of(copy)
        return None if labels.PURPOSE in labels_of(copy) else nested_key(copy)

    def is_ours(self, copy: Object) -> bool:
        """False for someone else's object that happens to have a copy's name; it is left alone."""
        if self.direction == "Up":
            return labels_of(copy).get(labels.MANAGED_BY) == "nestor"
        return is_synced_from(self.context.target.cluster, copy)

    # What a copy contains

    def is_wanted(self, key: Key, source: Object) -> bool:
        return True

    def find_refusal(self, source: Object) -> str | None:
        """Why there can be no copy, as a message for the tenant; None if there can be one."""
        return None

    def find_ignored(self, source: Object) -> Iterable[str]:
        """What the copy leaves out although its owner counts on it, as messages for the tenant; none for most."""
        return ()

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """Why this write would exceed what a cluster may have, as a message for the tenant; None if it would not.

        `copy` is what there is so far. It stays as it is while the limit holds, unless the row says `fails_closed`.
        """
        if self.direction == "Up":
            return None
        others, before = self.list_counted(), self.count_parts(copy) if copy is not None else 0
        found = limits.find_surplus(self.kind, len(others)) if copy is None else None
        total = sum(map(self.count_parts, others)) if self.kind in limits.MOST_PARTS else 0
        found = found or limits.find_excess_of_parts(self.kind, total, before, self.count_parts(desired))
        if self.is_small:
            found = found or limits.find_excess_of_object(self.kind.name, desired)
        return found or limits.find_excess_of_data(self.caches.copied_bytes.value, copy, desired)

    def list_counted(self) -> Collection[Object]:
        """The copies whose number is limited."""
        return self.copies.store.values()

    def count_parts(self, copy: Object) -> int:
        """How many parts a copy has of those whose number is limited (`limits.MOST_PARTS`)."""
        return 0

    def build(self, source: Object) -> Object:
        """The copy. Pure. It must be marked so that `is_ours` knows it again, or the engine creates it once and then leaves it
        alone. Down: take its metadata from `context.target.metadata`, and its fields one by one, never a whole spec, which is the
        tenant's; a spec with many gets a table in `pods.translate.fields`. Up: set the label `labels.MANAGED_BY` to `nestor`.
        """
        raise NotImplementedError

    def build_ahead(self, source: Object, error: Invalid | None = None) -> Object:
        """The copy of a source that does not exist yet, for `Copier.reserve`; `error`: why the server rejected the first one."""
        raise NotImplementedError

    def lift(self, source: Object, copy: Object) -> Object | None:
        """A merge patch that brings the source's status up to date with the copy's, or None if it is. Pure."""
        return None

    async def align(self, source: Object, copy: Object) -> None:
        """Change the source where its copy could not be as it says, other than in its status."""

    def find_reprieve(self, copy: Object) -> float:
        """Seconds that a copy stays although its source is not there yet; 0 for most."""
        return 0

    @property
    def is_settled(self) -> bool:
        """Whether everything of this kind is there that the cluster must have before it counts as ready."""
        return True

    # When to look again, and at what

    def wake_each(self, sources: Iterable[Object]) -> None:
        for found in sources:
            self.wake(key_of(found))

    def wake_all(self, _: Change | None = None) -> None:
        self.wake_each(self.sources or ())

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """Keys of this kind whose copies must exist before the pod is created."""
        return ()

    def missing(self, key: Key) -> None:
        """Called when a pod needs a source that does not exist. Return to go on without it, or raise, such as `RetryLater`."""

    # Special cases

    def explain(self, source: Object, error: Invalid) -> ApiError:
        """What is to be raised because the server rejected a copy as invalid. May raise `RetryLater` instead."""
        return error

    async def settle(self, source: Object, copy: Object) -> bool:
        """Handle a copy that differs in a `fixed` field. Return False to let the engine replace it."""
        return False

    def copy_gone(self, copy: Object) -> None:
        """Called when a copy was deleted, by us or by others."""

    async def after_end(self, copy: Object) -> bool:
        """Handle a copy whose source is gone. Return False to let the engine delete it."""
        return False


def is_synced_from(cluster: str, there: Object) -> bool:
    """True for a host object synced from nested cluster `cluster`; false for all others, such as those it consists of."""
    own = labels_of(there)
    return own.get(labels.CLUSTER) == cluster and labels.NESTED_UID in own
