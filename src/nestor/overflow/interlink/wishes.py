"""Which annotations a plugin gets. It may run what they say as its own user, outside the container. Pure."""

from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.api.patterns import is_match
from nestor.pods.providers.errors import InvalidInput

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TEXTS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


def list_own(pod: Object) -> dict[str, str]:
    """What reaches the backend in any case: of copies of nested pods, what Nestor says.

    The syncer writes nothing else; whoever breaks into it may, and counts as the tenant.
    """
    there = {key: value for key, value in annotations_of(pod).items() if key not in (_APPLIED, labels.BACKEND_ANNOTATIONS)}
    return {key: value for key, value in there.items() if labels.is_ours(key)} if _is_copy(pod) else there


def list_wishes(pod: Object) -> dict[str, str]:
    """What the tenant wants to tell the plugin. Raises `InvalidInput`."""
    if not _is_copy(pod):
        return {}
    try:
        return _TEXTS.validate_json(annotations_of(pod).get(labels.BACKEND_ANNOTATIONS, "{}"))
    except ValidationError:
        raise InvalidInput(f"annotation `{labels.BACKEND_ANNOTATIONS}` is malformed") from None


def choose(wishes: Mapping[str, str], allowed: Mapping[str, str]) -> dict[str, str]:
    """Those that the backend's admin allows."""
    return {key: value for key, value in wishes.items() if key in allowed and is_match(allowed[key], value)}


def _is_copy(pod: Object) -> bool:
    return labels.NESTED_UID in labels_of(pod)
