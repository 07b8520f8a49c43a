"""The conformance tests. Each uses its own pod name, so that tests can share a place, and does not clean up its pods."""

import asyncio
import copy
import uuid
from typing import Protocol

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.pods.providers.base import Backend, Call, Part
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet
from nestor.pods.translate.target import nested_uid
from tests.fakes.host import ReadableHost
from tests.waiting import eventually

CLUSTER = "conformance"


class AnyPlace(Protocol):
    """What the tests of providers and backends need: one of them, and a pod that it refuses."""

    @property
    def provider(self) -> ReadableHost | Backend:
        """What is under test."""

    namespace: str
    """`metadata.namespace` of all pods of the tests."""

    def refuse(self, pod: Object) -> tuple[Object, str]:
        """Return `pod` changed so that `create` raises `InvalidInput`, and a text that the error message must contain."""


class Place(AnyPlace, Protocol):
    """What the tests of the host need: control over what its users and kubelets do."""

    provider: ReadableHost
    invalid_patch: Object
    """A patch that it rejects with `InvalidInput`."""

    async def start(self, pod: Object) -> Object:
        """Make the pod run, so that it takes time to end (bind it to a node, for example). Returns its new state."""

    async def finish(self, pod: Object) -> None:
        """Remove a terminating pod for good, as its node does once the containers have stopped."""

    async def change(self, pod: Object) -> None:
        """Change the pod behind the provider's back, so that its `resourceVersion` changes."""


def build_pod(place: AnyPlace, name: str, uid: str | None = None) -> Object:
    """A small pod as the syncer passes it to a provider. `uid` is that of the nested pod (random by default).

    For a backend it has a `metadata.uid` of its own, since its host pod exists already.
    """
    marks = {labels.CLUSTER: CLUSTER, labels.NESTED_UID: uid or str(uuid.uuid4())}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": place.namespace, "labels": marks} | _own_uid(place),
        "spec": {
            "containers": [{"name": "app", "image": "example/web:1"}],
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 30,
        },
    }


def _own_uid(place: AnyPlace) -> Object:
    return {"uid": str(uuid.uuid4())} if hasattr(place.provider, "statuses") else {}


class PodsContract:
    """The tests that every provider and every backend must pass. A subclass supplies the fixture `place`."""

    @pytest.fixture
    def name(self) -> str:
        """A pod name that no other test uses."""
        return f"web-{uuid.uuid4().hex[:8]}"

    async def test_created_pod_is_returned_by_get_and_list(self, place: AnyPlace, name: str) -> None:
        pod = build_pod(place, name)
        created = await place.provider.create(pod)
        found = await place.provider.get(created)
        assert found["metadata"]["uid"] == created["metadata"]["uid"]
        assert nested_uid(found) == nested_uid(pod)
        assert found["spec"]["containers"][0]["image"] == "example/web:1"
        assert name in await list_names(place, otherwise=[name])

    async def test_create_is_idempotent(self, place: AnyPlace, name: str) -> None:
        pod = build_pod(place, name)
        created = await place.provider.create(pod)
        changed = copy.deepcopy(pod)
        changed["spec"]["containers"][0]["image"] = "example/web:2"
        again = await place.provider.create(changed)
        assert again["metadata"]["uid"] == created["metadata"]["uid"]
        assert (await place.provider.get(created))["spec"]["containers"][0]["image"] == "example/web:1"

    async def test_concurrent_creates_make_one_pod(self, place: AnyPlace, name: str) -> None:
        pod = build_pod(place, name)
        made = await asyncio.gather(*(place.provider.create(pod) for _ in range(5)))
        assert len({item["metadata"]["uid"] for item in made}) == 1
        assert (await list_names(place, otherwise=[name])).count(name) == 1

    async def test_rejected_pod_raises_invalid_input(self, place: AnyPlace, name: str) -> None:
        pod, words = place.refuse(build_pod(place, name))
        with pytest.raises(InvalidInput) as caught:
            await place.provider.create(pod)
        assert words in caught.value.message
        assert name not in await list_names(place, otherwise=[])

    async def test_delete_of_a_deleted_pod_succeeds(self, place: AnyPlace, name: str) -> None:
        pod = await place.provider.create(build_pod(place, name))
        await place.provider.delete(pod, grace_seconds=0)
        await gone(place, pod)
        await place.provider.delete(pod, grace_seconds=0)

        async def is_listed_no_more() -> bool:
            return name not in await list_names(place, otherwise=[])

        await eventually(is_listed_no_more)


class ListsPlace(AnyPlace, Protocol):
    async def add_foreign(self, name: str) -> None:
        """Add a pod with this name that is not Nestor's."""


class ListsContract:
    """What a backend with `lists` must pass as well: inherit it beside `BackendContract`."""

    async def test_foreign_pods_are_not_listed(self, place: ListsPlace, name: str) -> None:
        await place.add_foreign(name)
        assert name not in await list_names(place, otherwise=[name])


async def merge_items(place: Place, name: str, part: Part, path: tuple[str, str], items: list[Object]) -> None:
    """Patch a list of a pod once for each item, and see that all are there."""
    section, field = path
    pod = await place.provider.create(build_pod(place, name))
    for item in items:
        await place.provider.patch(pod, {section: {field: [item]}}, part)
    now = (await place.provider.get(pod))[section][field]
    assert all(any(item.items() <= found.items() for found in now) for item in items)


class HostContract(PodsContract):
    """What the host must pass. A subclass supplies the fixture `place`."""

    async def test_patch_is_idempotent(self, place: Place, name: str) -> None:
        pod = await place.provider.create(build_pod(place, name))
        for _ in range(2):
            await place.provider.patch(pod, {"metadata": {"labels": {"color": "red"}}})
        now = await place.provider.get(pod)
        assert now["metadata"]["labels"] == pod["metadata"]["labels"] | {"color": "red"}

    async def test_patch_of_one_part_leaves_the_others_and_merges_lists(self, place: Place, name: str) -> None:
        items = [{"name": item, "image": "x/debug:1"} for item in ("a", "b")]
        await merge_items(place, name, "ephemeralcontainers", ("spec", "ephemeralContainers"), items)

    async def test_rejected_patch_raises_invalid_input(self, place: Place, name: str) -> None:
        pod = await place.provider.create(build_pod(place, name))
        with pytest.raises(InvalidInput) as caught:
            await place.provider.patch(pod, place.invalid_patch)
        assert caught.value.message

    async def test_patch_of_a_deleted_pod_raises_not_found(self, place: Place, name: str) -> None:
        pod = await place.provider.create(build_pod(place, name))
        await place.provider.delete(pod, grace_seconds=0)
        await gone(place, pod)
        with pytest.raises(NotFound):
            await place.provider.patch(pod, {"metadata": {"labels": {"color": "red"}}})

    async def test_patch_of_the_status_leaves_the_rest_and_merges_lists(self, place: Place, name: str) -> None:
        items = [{"type": f"example.org/{item}", "status": "True"} for item in ("a", "b")]
        await merge_items(place, name, "status", ("status", "conditions"), items)

    async def test_create_raises_not_yet_while_an_earlier_pod_holds_the_name(self, place: Place, name: str) -> None:
        earlier = await place.start(await place.provider.create(build_pod(place, name)))
        await place.provider.delete(earlier)
        later = build_pod(place, name)
        with pytest.raises(NotYet):
            await place.provider.create(later)
        assert nested_uid(await place.provider.get(earlier)) == nested_uid(earlier)
        await place.finish(earlier)
        assert nested_uid(await _patiently(place, later)) == nested_uid(later)

    async def test_calls_for_a_deleted_pod_spare_its_successor(self, place: Place, name: str) -> None:
        earlier = await place.provider.create(build_pod(place, name))
        await place.provider.delete(earlier, grace_seconds=0)
        await gone(place, earlier)
        later = await _patiently(place, build_pod(place, name))
        await place.provider.delete(earlier, grace_seconds=0)
        with pytest.raises(NotFound):
            await place.provider.get(earlier)
        with pytest.raises(NotFound):
            await place.provider.patch(earlier, {"metadata": {"labels": {"color": "red"}}})
        now = await place.provider.get(later)
        assert now["metadata"]["uid"] == later["metadata"]["uid"]
        assert "color" not in now["metadata"]["labels"]
        assert not now["metadata"].get("deletionTimestamp")

    async def test_grace_period_can_be_shortened(self, place: Place, name: str) -> None:
        pod = await place.start(await place.provider.create(build_pod(place, name)))
        await place.provider.delete(pod, grace_seconds=20)
        first = (await place.provider.get(pod))["metadata"]
        assert first["deletionTimestamp"]
        assert first["deletionGracePeriodSeconds"] == 20
        await place.provider.delete(pod, grace_seconds=5)
        assert (await place.provider.get(pod))["metadata"]["deletionGracePeriodSeconds"] == 5
        await place.finish(pod)
        await gone(place, pod)

    async def test_grace_period_defaults_to_the_pods_own(self, place: Place, name: str) -> None:
        pod = await place.start(await place.provider.create(build_pod(place, name)))
        await place.provider.delete(pod)
        now = (await place.provider.get(pod))["metadata"]
        assert now["deletionGracePeriodSeconds"] == pod["spec"]["terminationGracePeriodSeconds"]

    async def test_delete_spares_a_pod_that_has_changed(self, place: Place, name: str) -> None:
        pod = await place.provider.create(build_pod(place, name))
        await place.change(pod)
        await place.provider.delete(pod, is_unchanged=True, grace_seconds=0)
        now = await place.provider.get(pod)
        assert not now["metadata"].get("deletionTimestamp")
        await place.provider.delete(now, is_unchanged=True, grace_seconds=0)
        await gone(place, pod)


class LogsContract:
    """What a provider with `logs` must pass as well: inherit it beside the other."""

    async def test_log_of_a_deleted_pod_raises_not_found(self, place: AnyPlace, name: str) -> None:
        pod, logs = await _deleted(place, name), place.provider.logs
        assert logs is not None
        with pytest.raises(NotFound):
            await logs.open_log(pod, [("container", "app")]).__aenter__()


class StreamsContract:
    """What a provider with `streams` must pass as well: inherit it beside the other."""

    async def test_stream_to_a_deleted_pod_raises_not_found(self, place: AnyPlace, name: str) -> None:
        pod, streams = await _deleted(place, name), place.provider.streams
        assert streams is not None
        headers = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "v4.channel.k8s.io")]
        with pytest.raises(NotFound):
            await streams.open_stream(pod, Call("exec", "POST", [("command", "sh"), ("stdout", "true")], headers)).__aenter__()


async def list_names(place: AnyPlace, *, otherwise: list[str]) -> list[str]:
    """The names of all pods; `otherwise` where they cannot be listed."""
    lists = place.provider.lists
    return otherwise if lists is None else [item["metadata"]["name"] for item in await lists.list()]


async def _deleted(place: AnyPlace, name: str) -> Object:
    """A pod that was there."""
    pod = await place.provider.create(build_pod(place, name))
    await place.provider.delete(pod, grace_seconds=0)
    await gone(place, pod)
    return pod


async def gone(place: AnyPlace, pod: Object) -> None:
    """Wait until the pod is gone."""

    async def look() -> bool:
        try:
            await place.provider.get(pod)
        except NotFound:
            return True
        return False

    await eventually(look)


async def _patiently(place: Place, pod: Object) -> Object:
    """Create the pod as soon as its name is free."""

    async def attempt() -> Object | None:
        try:
            return await place.provider.create(pod)
        except NotYet:
            return None

    return await eventually(attempt)
