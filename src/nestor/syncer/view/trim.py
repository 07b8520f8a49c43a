"""What the caches keep of each object: all but who wrote which field, a third of it. Nobody may change what they hold.

Of NetworkPolicies, whoever may edit one nested namespace can make many of a megabyte, none of which could be carried.
"""

import json

from nestor.api.objects import Object, without_managers
from nestor.syncer import limits

_CUT = "nestor.dev/cut"
"""Member of an object of which something is left out that its kind may have."""
_UNUSED = ("annotations", "labels", "managedFields")
"""What nobody reads of a NetworkPolicy."""
_BYTES = 32 * 1024
"""Of each. One that is longer has no content for us, and is refused."""
_BOUND = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels")


def is_cut(obj: Object) -> bool:
    """Whether an object is too large to be kept as a whole, and so to be carried."""
    return bool(obj.get(_CUT))


def trim_policy(policy: Object) -> Object:
    """A nested NetworkPolicy as it is kept. Of one that is too large, whom it isolates is left: these pods are closed. If even
    that is too large, all are.
    """
    kept = policy | {"metadata": {key: value for key, value in policy["metadata"].items() if key not in _UNUSED}}
    spec = kept.get("spec") or {}
    if limits.find_excess_of_object("", spec) is None:
        return kept
    selector = spec.get("podSelector") or {}
    is_small = limits.find_excess_of_object("", selector) is None
    return kept | {
        "spec": {"podSelector": selector if is_small else {}, "policyTypes": spec.get("policyTypes") or []},
        _CUT: True,
    }


def trim_optional(item: Object) -> Object:
    """An object of a kind that a cluster may not have as it is kept, since the server of its kind may be the tenant's own."""
    kept = without_managers(item)
    meta = kept["metadata"]
    if len(json.dumps(kept)) <= _BYTES:
        return kept
    what = {key: item[key] for key in ("apiVersion", "kind") if key in item}
    return what | {"metadata": {key: meta[key] for key in _BOUND if key in meta}}
