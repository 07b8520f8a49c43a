"""Errors of another cluster's API server in the words of `providers.base`, and its texts in those of the pod's owner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, errors
from nestor.pods.providers.errors import InvalidInput, NoRoom, NotFound, NotYet, ProviderError, Unauthorized, Unreachable
from nestor.pods.providers.host import EXCEEDED
from nestor.pods.providers.words import cut
from nestor.pods.translate import volumes
from nestor.pods.translate.references import find_references

_NO_RIGHT = re.compile(r'forbidden: User "[^"]*" cannot [a-z]+ ')
"""What RBAC says. Admission, which refuses objects, has the same status."""
_NONSENSE = (KeyError, TypeError, AttributeError, IndexError, RecursionError, ValueError)
"""What becomes of an answer that is none of an API server's."""


@contextmanager
def in_our_words(hide: Callable[[str], str] = str, *, is_stream: bool = False) -> Iterator[None]:
    """Turn API errors into provider errors. `hide` masks our credentials, which a hostile server might repeat.

    `is_stream`: there is no answer to be read but bytes, and other errors are those of whoever reads them.
    """
    try:
        yield
    except ApiError as error:
        raise build_error(error, cut(hide(error.message))) from None
    except _NONSENSE as error:
        if is_stream:
            raise
        raise Unreachable(f"the API server answers nonsense: {cut(hide(f'{type(error).__name__}: {error}'), 200)}") from error


def build_error(error: ApiError, text: str) -> ProviderError:
    """What an error means; `text` is what the API server says about it."""
    if isinstance(error, errors.Unreachable) or error.status in (502, 503, 504):
        return Unreachable(text or "no answer", 503)
    if error.status == 401 or lacks_right(error):
        return Unauthorized(f"the cluster refuses our credentials: {text}", error.status)
    if error.status == 404 or error.is_replaced:
        return NotFound(text)
    if isinstance(error, Forbidden):
        quota = text.partition(EXCEEDED)
        if quota[1]:
            return NoRoom("".join(quota[1:]), error.status)
        return NotYet(text) if error.is_terminating else InvalidInput(text, error.status)
    if isinstance(error, Invalid):
        return InvalidInput(text, error.status)
    if isinstance(error, Conflict) or error.status in (408, 410, 425, 429):
        return NotYet(text)
    return ProviderError(text, error.status if error.status >= 400 else 502)


def lacks_right(error: ApiError) -> bool:
    """Whether our account lacks a right, by RBAC."""
    return isinstance(error, Forbidden) and _NO_RIGHT.search(error.message) is not None


def build_words(pod: Object, namespace: str) -> dict[str, str]:
    """The names there that texts about a pod may have, and what its owner calls them. `namespace` is that of the pods there."""
    meta = pod["metadata"]
    words = {names.remote_input(item.name, meta["uid"]): item.name for item in find_references(pod)}
    name = names.remote_pod(meta["name"], meta["uid"])
    words[volumes.token_secret_name(pod)] = "service account token"
    return words | {name: meta["name"], f'"{namespace}/': f'"{meta["namespace"]}/', f"({namespace}/": f"({meta['namespace']}/"}
