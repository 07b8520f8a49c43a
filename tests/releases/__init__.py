"""What each release left behind: the objects of a job of it that is ready, in `<version>.yaml`.

`python -m tests.releases` records those of the checkout, before a release.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from nestor.api import names
from nestor.api.objects import owners_of
from nestor.kube import Api, Kind, kinds
from tests.waiting import wait_for

FOLDER = Path(__file__).parent
JOB, SPACE = "hello", "team-a"
"""The job, and its user's namespace."""
Object = dict[str, Any]
KINDS = {
    kind.name: kind
    for kind in (
        kinds.NAMESPACE,
        kinds.SERVICE_ACCOUNT,
        kinds.ROLE_BINDING,
        kinds.CLUSTER_ROLE_BINDING,
        kinds.NESTED_CLUSTER,
        kinds.SECRET,
        kinds.CONFIG_MAP,
        kinds.SERVICE,
        kinds.NETWORK_POLICY,
        kinds.RESOURCE_QUOTA,
        kinds.LIMIT_RANGE,
        kinds.STATEFUL_SET,
        kinds.POD,
        kinds.INGRESS,
        kinds.ENDPOINT_SLICE,
        kinds.NESTED_APP_JOB,
    )
}
"""What is recorded, in the order in which it can be made again."""
WITH_STATUS = ("NestedAppJob", "NestedCluster", "Pod")
"""Kinds whose status is not the host's own."""


def list_releases() -> list[str]:
    """All versions, the oldest one first."""
    return sorted((path.stem for path in FOLDER.glob("*.yaml")), key=lambda text: [int(part) for part in text.split(".")])


async def restore(api: Api, version: str) -> Object:
    """Make the job of that release, and all that belongs to it, as if that release ran. Returns the job.

    Raises `Invalid` if a definition of today lacks a field that the release wrote. UIDs are new, and so is the name of the job's
    own namespace, which has a hash of them: both are replaced wherever they occur.
    """
    documents: list[Object] = list(yaml.safe_load_all((FOLDER / f"{version}.yaml").read_text()))
    found: dict[str, str] = {}
    fill = _filler(found)
    for document in documents:
        kind, meta = KINDS[document["kind"]], document["metadata"]
        live = await _make(api, kind, fill(document))
        found[meta["uid"]] = live["metadata"]["uid"]
        if kind is kinds.NESTED_APP_JOB:
            home = names.job_namespace(JOB, SPACE, meta["uid"])
            found[home] = names.job_namespace(JOB, SPACE, live["metadata"]["uid"])
    for document in documents:
        if document["kind"] in WITH_STATUS:
            await _complete(api, KINDS[document["kind"]], fill(document))
    return await api.get(kinds.NESTED_APP_JOB, JOB, SPACE)


def _filler(found: dict[str, str]) -> Callable[[Object], Object]:
    def fill(document: Object) -> Object:
        text = json.dumps(document)
        for old, new in found.items():
            text = text.replace(old, new)
        filled: Object = json.loads(text)
        return filled

    return fill


async def _make(api: Api, kind: Kind, document: Object) -> Object:
    meta = document["metadata"]
    if is_of_stateful_set(document):
        made = await wait_for(api, kind, meta["name"], meta["namespace"], bool)
        assert made is not None
        return made
    body = {key: value for key, value in document.items() if key != "status"}
    body["metadata"] = {key: value for key, value in meta.items() if key != "uid"}
    return await api.create(kind, body, strict=True)


def is_of_stateful_set(document: Object) -> bool:
    """Whether the host makes it as soon as there is its StatefulSet."""
    return any(owner["kind"] == "StatefulSet" for owner in owners_of(document))


async def _complete(api: Api, kind: Kind, document: Object) -> None:
    """What names objects that were made later: annotations, and the status."""
    meta = document["metadata"]
    notes = {"metadata": {"annotations": meta.get("annotations") or {}}}
    await api.patch(kind, meta["name"], meta["namespace"], notes)
    if document.get("status"):
        status = {"status": document["status"]}
        await api.patch(kind, meta["name"], meta["namespace"], status, subresource="status", strict=True)
