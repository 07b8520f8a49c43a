"""Creates a nested cluster as fast as the host's API server allows: independent requests run in parallel."""

from __future__ import annotations

import asyncio
import datetime
from dataclasses import dataclass

from nestor import times
from nestor.api import labels
from nestor.cluster import access, pki, shared
from nestor.cluster.pki import Authorities
from nestor.cluster.shape import Shape
from nestor.kube import Conflict, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.kube.tasks import together
from nestor.names import Part
from nestor.objects import Object, labels_of, owners_of


class ForeignObject(Exception):
    """A foreign object already has the name of one of ours; the message names it."""


@dataclass(frozen=True)
class Addresses:
    """Addresses of the cluster's Services, assigned by the host's API server."""

    api: str
    dns: str


@dataclass
class _Keys:
    authorities: Authorities
    access: str = ""
    access_checked: datetime.datetime | None = None
    admin: str = ""
    admin_checked: datetime.datetime | None = None


class Provisioner:
    """Creates and maintains the objects of nested clusters. Remembers keys, so that a settled cluster needs no requests."""

    def __init__(self, applier: Applier) -> None:
        self._applier = applier
        self._api = applier.api
        self._keys: dict[tuple[str, str], _Keys] = {}

    def forget(self, namespace: str, name: str) -> None:
        """Drop what is remembered about a cluster that is being deleted."""
        self._keys.pop((namespace, name), None)

    async def ensure_surroundings(self, shape: Shape) -> Addresses:
        """Ensure everything that the cluster's pods need before they start, except what depends on the Services' addresses."""
        ensure = self._applier.ensure
        api, dns, *_ = await together(
            *(ensure(kinds.SERVICE, service) for service in shared.build_services(shape)),
            self._ensure_authorities(shape),
            *(ensure(kind, body) for kind, body in shared.build_surroundings(shape)),
        )
        return Addresses(api["spec"]["clusterIP"], dns["spec"]["clusterIP"])

    async def ensure_access(self, shape: Shape, addresses: Addresses) -> None:
        """Ensure what the pods mount: certificates and DNS configuration. Before the pods, or kubelet waits before it retries."""
        await together(
            self._ensure_access_secret(shape, addresses), self._applier.ensure(*shared.build_configuration(shape, addresses.api))
        )

    async def ensure_server(self, shape: Shape, addresses: Addresses) -> None:
        """Ensure the cluster's own pod."""
        await self._applier.ensure(*shared.build_server(shape, addresses.api))

    async def ensure_kubeconfig(self, shape: Shape, addresses: Addresses) -> None:
        """Ensure the user's admin kubeconfig. Raises `ForeignObject` if a Secret with that name belongs to somebody else."""
        if (metadata := shape.kubeconfig) is None:
            return
        mark = labels.JOB_UID if labels.JOB_UID in metadata["labels"] else labels.CLUSTER
        now, keys = _now(), self._keys[shape.namespace, shape.name]
        authorities = keys.authorities
        key = pki.content_key(authorities, addresses.api)
        if keys.admin == key and _is_fresh(keys.admin_checked, now):
            return
        found = await self._api.find(kinds.SECRET, metadata["name"], metadata["namespace"])
        if found is not None:
            _check_ours(found, metadata, mark)
        if not (pki.is_current(found, key, now) and found and pki.is_admin_kubeconfig(found, authorities, addresses.api, now)):
            content = await asyncio.to_thread(pki.mint_admin_kubeconfig, authorities, addresses.api, now)
            secret = access.build_secret(metadata, content, annotations=pki.renewal_annotations(key, now))
            if found is None:
                # Somebody's Secret may have come in between.
                _check_ours(await self._create_secret(secret), metadata, mark)
            else:
                await self._api.apply(kinds.SECRET, secret)
        keys.admin, keys.admin_checked = key, now

    async def _ensure_authorities(self, shape: Shape) -> None:
        """Create the authorities once; never apply: a second set would invalidate the certificates of the first."""
        if (shape.namespace, shape.name) in self._keys:
            return
        name = shape.child(Part.AUTHORITIES)
        secret = await self._api.find(kinds.SECRET, name, shape.namespace)
        if secret is None:
            content = await asyncio.to_thread(pki.mint_authorities, shape.name, _now())
            secret = await self._create_secret(access.build_secret(shape.metadata(name), content))
        if _is_left_over(secret, shape.owner):
            raise RetryLater(1, f"Secret '{name}' of an earlier cluster with this name is being deleted")
        self._keys[shape.namespace, shape.name] = _Keys(Authorities.from_secret(secret))

    async def _ensure_access_secret(self, shape: Shape, addresses: Addresses) -> None:
        keys, now = self._keys[shape.namespace, shape.name], _now()
        key = pki.content_key(keys.authorities, addresses.api)
        if keys.access == key and _is_fresh(keys.access_checked, now):
            return
        name = shape.child(Part.ACCESS)
        found = await self._api.find(kinds.SECRET, name, shape.namespace)
        if not pki.is_current(found, key, now):
            content = await asyncio.to_thread(pki.mint_access, keys.authorities, addresses.api, now)
            annotations = pki.renewal_annotations(key, now)
            await self._api.apply(kinds.SECRET, access.build_secret(shape.metadata(name), content, annotations=annotations))
        keys.access, keys.access_checked = key, now

    async def _create_secret(self, secret: Object) -> Object:
        try:
            return await self._api.create(kinds.SECRET, {"apiVersion": "v1", "kind": "Secret", **secret})
        except Conflict:
            meta = secret["metadata"]
            return await self._api.get(kinds.SECRET, meta["name"], meta["namespace"])


def _check_ours(secret: Object, metadata: Object, mark: str) -> None:
    """Raises `ForeignObject` where the label `mark` says that the Secret is not the one that `metadata` describes."""
    if labels_of(secret).get(mark) != metadata["labels"][mark]:
        raise ForeignObject(
            f"Secret '{metadata['name']}' in namespace '{metadata['namespace']}' already exists and is not Nestor's: "
            "delete or rename it"
        )


def _is_left_over(secret: Object, owner: Object | None) -> bool:
    """Whether it will be garbage-collected because its owner is a deleted cluster of the same name."""
    owners = [item["uid"] for item in owners_of(secret)]
    return owner is not None and bool(owners) and owner["uid"] not in owners


def _is_fresh(checked: datetime.datetime | None, now: datetime.datetime) -> bool:
    return checked is not None and now - checked < datetime.timedelta(seconds=RESYNC_SECONDS)


def _now() -> datetime.datetime:
    return times.now().replace(microsecond=0)
