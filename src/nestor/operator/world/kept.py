"""How trimmed objects are kept: free-form parts as compressed text, and a stub of what is too large or cannot be read.

Whoever decides by a spec asks `find_fault` first: a stub is refused, and never read as if its author had left everything out.
"""

import json
import zlib
from collections.abc import Iterable

from nestor.api.objects import Object, spec_of

SPEC_LIMIT = 256 * 1024
"""Bytes of a spec as JSON. As Python objects it may need thirty times that, so what is larger is not kept at all."""

PACKED = "packed"
"""Key of a trimmed object: the free-form parts of its spec, compressed, each by its path."""
OVERSIZED = "oversized"
"""Key of a stub: the size of its spec in bytes."""
UNREADABLE = "unreadable"
"""Key of a stub: what went wrong when the object was trimmed."""

Path = tuple[str, ...]


def is_kept(obj: Object) -> bool:
    """Whether the object is trimmed already, so that it must not be trimmed again."""
    return any(key in obj for key in (PACKED, OVERSIZED, UNREADABLE))


def find_fault(obj: Object | None) -> str | None:
    """Why the object is only a stub, as a sentence for the user; None if its spec can be read."""
    if obj is None:
        return None
    if size := obj.get(OVERSIZED):
        return f"`spec` has {size} bytes as JSON; at most {SPEC_LIMIT} are accepted"
    return f"it cannot be read: {obj[UNREADABLE]}" if UNREADABLE in obj else None


def write(value: object) -> bytes:
    """Compact JSON. Users' text may contain half characters, which no encoding has."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


def pack(spec: Object, paths: Iterable[Path]) -> Object:
    """What to keep as `spec` and `PACKED`: the parts at these paths, of one or two keys, are compressed."""
    packed, rest = {}, dict(spec)
    for path in paths:
        *parents, key = path
        holder = rest.get(parents[0]) if parents else rest
        if not isinstance(holder, dict) or holder.get(key) is None:
            continue
        packed[path] = zlib.compress(write(holder[key]), 1)
        left = {name: value for name, value in holder.items() if name != key}
        rest = rest | {parents[0]: left} if parents else left
    return {"spec": rest, PACKED: packed}


def read_spec(obj: Object) -> Object:
    """The whole spec of an object that may have been trimmed. Not for a stub."""
    spec = dict(spec_of(obj))
    packed: dict[Path, bytes] = obj.get(PACKED) or {}
    for (*parents, key), content in packed.items():
        value = json.loads(zlib.decompress(content))
        spec |= {parents[0]: {**spec[parents[0]], key: value}} if parents else {key: value}
    return spec
