"""What an admin of a nested cluster may do, and for how long."""

import datetime
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from nestor.api.contracts.cluster import ADMIN_GROUP
from nestor.cluster import certificates, pki
from nestor.cluster.certificates import Pair
from nestor.cluster.pki import Authorities
from nestor.kube import Api, ApiError, kinds
from tests.integration.syncer.world import World


def build_authority() -> Pair:
    """An authority for access, named like the one that the API server has, as the operator does it."""
    return certificates.new_authority("test-ca", datetime.datetime.now(datetime.UTC))


@asynccontextmanager
async def admin(world: World, access: Pair) -> AsyncIterator[Api]:
    """The user, with a kubeconfig as the operator writes it."""
    own = Pair((world.plane.folder / "ca.crt").read_bytes(), (world.plane.folder / "ca.key").read_bytes())
    now = datetime.datetime.now(datetime.UTC)
    content = pki.mint_admin_kubeconfig(Authorities(own, own, access), "10.43.0.5", now, datetime.timedelta(days=1))
    kubeconfig = json.loads(content["kubeconfig"])
    kubeconfig["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{world.plane.port}"
    async with await Api.from_kubeconfig(kubeconfig) as api:
        yield api


async def status_of(api: Api) -> int:
    """What a request for something that only admins see is answered with."""
    try:
        await api.list(kinds.SECRET, "kube-system")
    except ApiError as error:
        return error.status
    return 200


@pytest.fixture
def kept_authority(world: World) -> Iterator[bytes]:
    """The clients' authorities that the API server begins with, which are there again afterwards."""
    path = world.plane.folder / "ca.crt"
    content = path.read_bytes()
    yield content
    path.write_bytes(content)


async def test_a_new_authority_makes_earlier_kubeconfigs_useless_while_the_server_runs(
    world: World, kept_authority: bytes
) -> None:
    first, second = build_authority(), build_authority()
    path = world.plane.folder / "ca.crt"
    async with admin(world, first) as old, admin(world, second) as new:

        async def is_so(expected: tuple[int, int]) -> bool:
            return (await status_of(old), await status_of(new)) == expected

        path.write_bytes(kept_authority + first.certificate)
        await world.eventually(lambda: is_so((200, 401)))
        path.write_bytes(kept_authority + second.certificate)
        await world.eventually(lambda: is_so((401, 200)))
        assert await status_of(world.nested) == 200


async def test_the_admins_rights_are_a_binding(world: World, kept_authority: bytes) -> None:
    """So they can be taken away, unlike those of `system:masters`. It comes back if it is deleted by mistake."""
    authority = build_authority()
    (world.plane.folder / "ca.crt").write_bytes(kept_authority + authority.certificate)
    async with admin(world, authority) as api:

        async def answers(status: int) -> bool:
            return await status_of(api) == status

        await world.eventually(lambda: answers(200))
        await world.nested.delete(kinds.CLUSTER_ROLE_BINDING, ADMIN_GROUP)
        await world.eventually(lambda: answers(403))
        await world.stop()
        await world.start()
        await world.eventually(lambda: answers(200))
