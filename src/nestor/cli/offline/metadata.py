"""An object's envelope, as every API server checks it: names, labels, annotations. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nestor.cli.offline.faults import Fault, child, show

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
NAME_LIMIT = 253
ANNOTATIONS_LIMIT = 256 * 1024
_KNOWN = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "labels": dict,
    "annotations": dict,
    "finalizers": list,
    "ownerReferences": list,
    "uid": str,
    "resourceVersion": str,
    "generation": int,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "managedFields": list,
    "selfLink": str,
}
ROOT_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")


def check(document: dict[str, Any], *, is_namespaced: bool) -> Iterator[Fault]:
    """What is wrong with everything but `spec` and `status`."""
    for key in document:
        if key not in ROOT_FIELDS:
            yield Fault(key, f"is unknown here; known: {', '.join(ROOT_FIELDS)}")
    meta = document.get("metadata")
    if not isinstance(meta, dict):
        yield Fault("metadata", "must be a dictionary with `name`")
        return
    for key, value in meta.items():
        if key not in _KNOWN:
            yield Fault(child("metadata", key), "is unknown here")
        elif value is not None and not isinstance(value, _KNOWN[key]):
            yield Fault(child("metadata", key), f"has the wrong type: {show(value)}")
    yield from _check_names(meta, is_namespaced=is_namespaced)
    for key, value in _entries(meta, "labels"):
        yield from _check_key(key, "metadata.labels")
        if isinstance(value, str) and value and not _LABEL_NAME.fullmatch(value):
            yield Fault(child("metadata.labels", key), f"must be at most 63 letters, digits, '-', '_' and '.', not {show(value)}")
        elif value is not None and not isinstance(value, str):
            yield Fault(child("metadata.labels", key), f"must be a string, not {show(value)}: put it in quotes")
    yield from _check_annotations(meta)


def _entries(meta: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    found = meta.get(key)
    return list(found.items()) if isinstance(found, dict) else []


def _check_names(meta: dict[str, Any], *, is_namespaced: bool) -> Iterator[Fault]:
    name, prefix, namespace = meta.get("name"), meta.get("generateName"), meta.get("namespace")
    if not name and not prefix:
        yield Fault("metadata.name", "must be set")
    if isinstance(name, str) and name and not (len(name) <= NAME_LIMIT and _NAME.fullmatch(name)):
        yield Fault("metadata.name", f"must be at most {NAME_LIMIT} lower-case letters, digits, '-' and '.', not {show(name)}")
    if not isinstance(namespace, str) or not namespace:
        return
    # On a kind without namespaces an API server does not look at it.
    if is_namespaced and not _NAMESPACE.fullmatch(namespace):
        yield Fault("metadata.namespace", f"must be at most 63 lower-case letters, digits and '-', not {show(namespace)}")


def _check_annotations(meta: dict[str, Any]) -> Iterator[Fault]:
    size = 0
    for key, value in _entries(meta, "annotations"):
        yield from _check_key(key.lower(), "metadata.annotations")
        if value is not None and not isinstance(value, str):
            yield Fault(child("metadata.annotations", key), f"must be a string, not {show(value)}: put it in quotes")
        size += len(key.encode()) + len(str(value).encode())
    if size > ANNOTATIONS_LIMIT:
        yield Fault("metadata.annotations", f"must be at most {ANNOTATIONS_LIMIT // 1024} KiB in total")


def _check_key(key: str, path: str) -> Iterator[Fault]:
    domain, separator, name = key.rpartition("/")
    is_good = _LABEL_NAME.fullmatch(name) and (not separator or (len(domain) <= NAME_LIMIT and _NAME.fullmatch(domain)))
    if not is_good:
        form = "an optional domain and '/', then at most 63 letters, digits, '-', '_' and '.'"
        yield Fault(child(path, key), f"is not a valid key: {form}")
