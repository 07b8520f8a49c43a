"""Creates a nested cluster as fast as the host's API server allows: independent requests run in parallel."""

from __future__ import annotations

import asyncio
import datetime
from dataclasses import dataclass

from nestor.api import labels, times
from nestor.api.names import OWN_PULL_SECRET, Part
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.cluster import coredns, pki, policies, server
from nestor.cluster.home import Home, build_nodes_binding, build_role_binding, build_secret, build_service_account, encode
from nestor.cluster.pki import Authorities, Lifetimes
from nestor.cluster.pulls import OwnPulls
from nestor.cluster.shape import Shape
from nestor.kube import Conflict, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.kube.tasks import together


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
    rotation: str
    """The value of the annotation that `authorities` belong to."""
    access: _Checked | None = None
    admin: _Checked | None = None


@dataclass(frozen=True)
class _Checked:
    """A Secret with certificates that was in order when it was last looked at."""

    key: str
    at: datetime.datetime
    renew: datetime.datetime

    def is_fresh(self, key: str, now: datetime.datetime) -> bool:
        return self.key == key and now - self.at < datetime.timedelta(seconds=RESYNC_SECONDS) and now < self.renew


class Provisioner:
    """Creates and maintains the objects of nested clusters. Remembers keys, so that a settled cluster needs no requests."""

    def __init__(self, applier: Applier, lifetimes: Lifetimes | None = None, pulls: OwnPulls | None = None) -> None:
        self._applier = applier
        self._api = applier.api
        self._lifetimes = lifetimes or Lifetimes()
        self._pulls = pulls or OwnPulls(applier.api)
        self._keys: dict[tuple[str, str], _Keys] = {}
        self._rotated: set[tuple[str, str]] = set()
        """Clusters with new keys of which users have not been told."""

    def forget(self, namespace: str, name: str) -> None:
        """Drop what is remembered about a cluster that is being deleted."""
        self._keys.pop((namespace, name), None)
        self._rotated.discard((namespace, name))

    def get_authorities(self, home: Home) -> Authorities:
        return self._keys[home.namespace, home.name].authorities

    def take_rotation(self, home: Home) -> bool:
        """Whether the cluster's keys were rotated since the last call."""
        was_rotated = (home.namespace, home.name) in self._rotated
        self._rotated.discard((home.namespace, home.name))
        return was_rotated

    async def ensure_surroundings(self, shape: Shape) -> Addresses:
        """Ensure everything that the cluster's pods need before they start, except what depends on the Services' addresses."""
        ensure = self._applier.ensure
        api, dns, *_ = await together(
            *(ensure(kinds.SERVICE, service) for service in server.build_services(shape)),
            self._ensure_authorities(shape),
            self.ensure_own_pulls(shape),
            ensure(kinds.SERVICE_ACCOUNT, build_service_account(shape)),
            ensure(kinds.ROLE_BINDING, build_role_binding(shape)),
            ensure(kinds.CLUSTER_ROLE_BINDING, build_nodes_binding(shape)),
            *(ensure(kinds.NETWORK_POLICY, policy) for policy in policies.build_policies(shape)),
        )
        return Addresses(api["spec"]["clusterIP"], dns["spec"]["clusterIP"])

    async def ensure_own_pulls(self, home: Home) -> None:
        """Ensure what Nestor's own images are pulled with, if that takes a Secret."""
        if (body := await self._pulls.build(home.metadata(OWN_PULL_SECRET))) is not None:
            await self._applier.ensure(kinds.SECRET, body)

    async def ensure_access(self, shape: Shape, addresses: Addresses) -> None:
        """Ensure what the pods mount: certificates and DNS configuration. Before the pods, or kubelet waits before it retries."""
        await together(
            self._ensure_access_secret(shape, addresses.api),
            self._applier.ensure(kinds.CONFIG_MAP, coredns.build_config_map(shape, addresses.api)),
        )

    async def ensure_server(self, shape: Shape, addresses: Addresses) -> None:
        await self._applier.ensure(kinds.STATEFUL_SET, server.build_stateful_set(shape, addresses.api))

    async def keep_keys(self, home: Home) -> None:
        """Renew the keys of a cluster of which nothing else is maintained, because its class or its spec is refused.

        Raises `ForeignObject` as `ensure_kubeconfig` does. Does nothing for a cluster that was never created.
        """
        secret, service = await together(
            self._api.find(kinds.SECRET, home.child(Part.AUTHORITIES), home.namespace),
            self._api.find(kinds.SERVICE, home.child(Part.SERVER), home.namespace),
        )
        if secret is None or service is None or not home.has_made(secret) or not home.has_made(service):
            return
        await self._ensure_authorities(home)
        address = service["spec"]["clusterIP"]
        await self._ensure_access_secret(home, address)
        await self.ensure_kubeconfig(home, address)

    async def ensure_kubeconfig(self, home: Home, address: str) -> None:
        """Ensure the user's admin kubeconfig, for the API server's `address`.

        Raises `ForeignObject` if a Secret with that name belongs to somebody else.
        """
        if (metadata := home.kubeconfig) is None:
            return
        now, keys, lifetime = _now(), self._keys[home.namespace, home.name], self._lifetimes.admin
        authorities = keys.authorities
        key = pki.content_key(authorities, address)
        if keys.admin and keys.admin.is_fresh(key, now):
            return
        found = await self._api.find(kinds.SECRET, metadata["name"], metadata["namespace"])
        if found is not None:
            _check_ours(found, metadata)
        if not (pki.is_current(found, key, now) and found and pki.is_issued(found, authorities, address, now)):
            content = await asyncio.to_thread(pki.mint_admin_kubeconfig, authorities, address, now, lifetime)
            annotations = pki.renewal_annotations(key, now + self._lifetimes.admin_renewal)
            secret = build_secret(metadata, content, annotations=annotations)
            if found is None:
                # Somebody's Secret may have come in between.
                _check_ours(await self._create_secret(secret), metadata)
            else:
                await self._api.apply(kinds.SECRET, secret)
            found = secret
        keys.admin = _Checked(key, now, pki.read_renewal(found))

    async def _ensure_authorities(self, home: Home) -> None:
        """Create the authorities once; never apply: a second set would invalidate the certificates of the first."""
        keys = self._keys.get((home.namespace, home.name))
        if keys is not None and home.rotation in ("", keys.rotation):
            return
        name = home.child(Part.AUTHORITIES)
        secret = await self._api.find(kinds.SECRET, name, home.namespace)
        if secret is None:
            content = await asyncio.to_thread(pki.mint_authorities, home.name, _now())
            marks = {labels.ROTATE: home.rotation} if home.rotation else None
            secret = await self._create_secret(build_secret(home.metadata(name), content, annotations=marks))
        secret = await self._rotate(home, secret)
        self._keys[home.namespace, home.name] = _Keys(_read_authorities(secret), home.rotation)

    async def _rotate(self, home: Home, secret: Object) -> Object:
        """Replace the authority for access, if the user asked for that. In one write with the mark that it was done."""
        if home.rotation in ("", annotations_of(secret).get(labels.ROTATE, "")):
            return secret
        client = _read_authorities(secret).client.certificate
        content = await asyncio.to_thread(pki.mint_access_authority, home.name, client, _now())
        meta = {"uid": secret["metadata"].get("uid"), "annotations": {labels.ROTATE: home.rotation}}
        patch = {"metadata": meta, "data": encode(content)}
        rotated = await self._api.patch(kinds.SECRET, secret["metadata"]["name"], home.namespace, patch)
        self._rotated.add((home.namespace, home.name))
        return rotated

    async def _ensure_access_secret(self, home: Home, address: str) -> None:
        keys, now, lifetime = self._keys[home.namespace, home.name], _now(), self._lifetimes.access
        key = pki.content_key(keys.authorities, address)
        if keys.access and keys.access.is_fresh(key, now):
            return
        name = home.child(Part.ACCESS)
        found = await self._api.find(kinds.SECRET, name, home.namespace)
        if found is None or not pki.is_current(found, key, now):
            content = await asyncio.to_thread(pki.mint_access, keys.authorities, address, now, lifetime)
            annotations = pki.renewal_annotations(key, now + lifetime / 2)
            found = build_secret(home.metadata(name), content, annotations=annotations)
            await self._api.apply(kinds.SECRET, found)
        keys.access = _Checked(key, now, pki.read_renewal(found))

    async def _create_secret(self, secret: Object) -> Object:
        try:
            return await self._api.create(kinds.SECRET, {"apiVersion": "v1", "kind": "Secret", **secret})
        except Conflict:
            meta = secret["metadata"]
            return await self._api.get(kinds.SECRET, meta["name"], meta["namespace"])


def _check_ours(secret: Object, metadata: Object) -> None:
    """Raises `ForeignObject` where the Secret is not of the job that `metadata` names."""
    if labels_of(secret).get(labels.JOB_UID) != metadata["labels"][labels.JOB_UID]:
        raise ForeignObject(
            f"Secret '{metadata['name']}' in namespace '{metadata['namespace']}' already exists and is not Nestor's: "
            "delete or rename it"
        )


def _read_authorities(secret: Object) -> Authorities:
    """Raises `ForeignObject` if somebody has put something else in their place."""
    try:
        return Authorities.from_secret(secret)
    except (TypeError, ValueError) as error:
        meta = secret["metadata"]
        raise ForeignObject(
            f"Secret '{meta['name']}' in namespace '{meta['namespace']}' does not hold Nestor's keys any more: restore it, or "
            "create the cluster again"
        ) from error


def _now() -> datetime.datetime:
    return times.now().replace(microsecond=0)
