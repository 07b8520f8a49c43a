"""A syncer whose requests are recorded, and what all scenarios do."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from nestor.api import names
from nestor.api.contracts.cluster import ADMIN_GROUP, COREDNS_USER
from nestor.kube import Api, kinds
from nestor.syncer import limits
from nestor.syncer.copies.rows import config, nodes
from tests.integration import apiserver
from tests.integration.requests import golden
from tests.integration.requests.golden import Rules
from tests.integration.requests.recorder import Recorder, Request
from tests.integration.syncer import world as worlds
from tests.integration.syncer.pods import is_ready
from tests.integration.syncer.world import CLUSTER, START, World
from tests.waiting import until

Object = dict[str, Any]

LINGER_SECONDS = 3600
"""How long an unused node stays. A new node counts as unused until its first pod is bound, however long that takes; its end
belongs to the step in which its last pod goes, as the test says by `Stage.let_node_go`."""

BASICS = (
    COREDNS_USER,
    f"clusterrolebindings/{ADMIN_GROUP}",
    "subjectaccessreviews",
    "kube-system/services/kube-dns",
    "mutatingwebhookconfigurations/nestor-services",
    "/pods/hello-k3s-0",
)
"""Applied or looked at at the start and again every minute: left out, except where the start itself is looked at."""

RULES = Rules(
    sets=(
        # Named by what is posted, so that several of one object are under one key; and tried again after an outage.
        r"^nested .*/events/",
        # All tokens of a pod are asked for at once.
        r"^nested .*/serviceaccounts/[^/]+/token$",
    ),
    # Status comes up level-triggered: the pod is looked at again for the events of our own binding and patch, and the times in
    # these are a second apart or not.
    news=(r"/pods/[^/]+/status$",),
    once=(
        # Asked for again while the cache does not show it yet, with 404 for an answer when it is done.
        r"/pods/[^/]+(/(?!status$)[a-z]+)?$",
        # A Job's own controller writes to it at the same moment: the syncer's patch conflicts, and is sent again.
        r"^nested .*/jobs/",
        # An address that a deleted Service had comes free a moment later; until then it is asked for every 0.1 s.
        r"^host .*/services/",
        # What the host refuses is tried again with growing delays.
        r"^host .*/configmaps/taken-",
    ),
    # Server-side apply of the whole status; the count of pods may pass through several states.
    # Whether a right is in force is asked until it is.
    latest=(r"^host .*/nestedclusters/[^/]+/status$", r"^nested .*/subjectaccessreviews$"),
    # Jobs are listed at the start, and while there is something to resume; that may be over before their watch begins. A host
    # node is asked for until its watch has begun, which may be before it is looked at again.
    left_out=(r"^GET nested /apis/batch/v1/(cron)?jobs$", r"^GET host /api/v1/nodes/[^/]+$"),
)


@dataclass
class Stage:
    """Where one scenario plays."""

    world: World
    recorder: Recorder
    space: str
    _nodes: int = 0
    _has_node: bool = False

    @property
    def node(self) -> str:
        """The host node of this scenario's pods: another one after its last pod went, as a node that comes back is a race."""
        return f"{self.space}-{self._nodes}"

    def step(self, title: str) -> Any:
        """See `Recorder.step`."""
        return self.recorder.step(title)

    async def set_up(self, *config: tuple[Any, Object]) -> None:
        """What is there before anything is recorded: the host's node, the nested namespace, and objects in it."""
        space = {"metadata": {"name": self.space}}
        await self.world.nested.create(kinds.NAMESPACE, space)
        await self.world.eventually(lambda: self.world.nested.find(kinds.SERVICE_ACCOUNT, "default", self.space))
        await self.world.eventually(lambda: self.world.nested.find(kinds.CONFIG_MAP, "kube-root-ca.crt", self.space))
        for kind, body in config:
            await self.world.nested.create(kind, body)
        await self.recorder.settle()

    async def create(self, body: Object) -> tuple[Object, Object]:
        """A nested pod and its host pod."""
        nested = await self.world.nested.create(kinds.POD, body)
        return nested, await self.world.host_pod(nested)

    async def bind(self, nested: Object, host: Object) -> None:
        """The host's scheduler binds, and the nested pod follows."""
        if not self._has_node:
            self._nodes, self._has_node = self._nodes + 1, True
            await make_node(self.world.host, self.node)
            await self.recorder.settle()
        await self.world.schedule(host, self.node)
        await self.world.nested_pod(nested, lambda pod: bool(pod["spec"].get("nodeName")))

    async def report(self, nested: Object, host: Object) -> None:
        """The host's kubelet says that the pod runs, and the nested pod follows."""
        await self.world.report(host, **worlds.running_status(host))
        await self.world.nested_pod(nested, is_ready)

    async def start(self, body: Object) -> tuple[Object, Object]:
        """A pod that runs, outside of what is recorded."""
        nested, host = await self.create(body)
        await self.bind(nested, host)
        await self.recorder.settle()
        await self.report(nested, host)
        await self.recorder.settle()
        return nested, host

    async def delete(self, nested: Object, host: Object) -> None:
        """The tenant deletes the pod, and the host pod is told to end. The pod is bound: others go at once, which is a race."""
        meta = nested["metadata"]
        await self.world.nested.delete(kinds.POD, meta["name"], meta["namespace"])
        await self.ending(host)

    async def ending(self, host: Object) -> None:
        """Await that the host pod is told to end; one that has finished goes at once."""
        meta = host["metadata"]
        await until(
            lambda: self.world.host.find(kinds.POD, meta["name"], meta["namespace"]),
            lambda found: found is None or bool(found["metadata"].get("deletionTimestamp")),
        )

    def let_node_go(self) -> None:
        """Call this before the last pod of a node goes: the nested node goes at once, which `no_node` awaits."""
        nodes.NodeRow.linger_seconds = 0

    async def end(self, nested: Object, host: Object, *, is_last: bool = False) -> None:
        """The host's kubelet ends the pod, and the nested pod goes."""
        if is_last:
            self.let_node_go()
        await self.world.finish(host)
        await self.world.gone(self.world.nested, kinds.POD, nested)

    async def remove(self, *pairs: tuple[Object, Object]) -> None:
        """End all pods that are left, and await that their node goes."""
        for nested, host in pairs:
            if (nested, host) == pairs[-1]:
                self.let_node_go()  # a pod that has finished goes when it is deleted
            await self.delete(nested, host)
            await self.recorder.settle()
            await self.end(nested, host)
        await self.no_node()

    async def no_node(self) -> None:
        """Await that the nested node is gone, as its last pod is."""
        await until(lambda: self.world.nested.find(kinds.NODE, self.node), lambda found: found is None)
        nodes.NodeRow.linger_seconds, self._has_node = LINGER_SECONDS, False

    async def host_is(self, kind: Any, name: str, check: Callable[[Object | None], bool]) -> None:
        """Await that the host object of a nested one (None: absent) is as it should be."""
        await until(lambda: self.world.host.find(kind, names.host_name(name, self.space), self.world.namespace), check)

    async def cluster_is(self, check: Callable[[Object], bool]) -> None:
        """Await what the NestedCluster's status says."""
        await until(
            lambda: self.world.host.get(kinds.NESTED_CLUSTER, CLUSTER, self.world.namespace),
            lambda cluster: check(cluster.get("status") or {}),
        )

    def check(self, rules: Rules = RULES) -> None:
        """Compare what was recorded with the golden file of this scenario."""
        golden.check(f"syncer/{self.space}", self.recorder, rules)


async def make_node(host: Api, name: str) -> None:
    """A host node, ready."""
    labels = {"kubernetes.io/hostname": name, "zone": "a", "nestor.dev/private": "x"}
    await host.apply(kinds.NODE, {"metadata": {"name": name, "labels": labels}, "spec": {}})
    await host.patch(kinds.NODE, name, None, {"spec": {"taints": None}})
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    status = {
        "capacity": resources,
        "allocatable": resources,
        "images": [{"names": ["secret/image:1"], "sizeBytes": 1}],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "conditions": [ready | {"lastHeartbeatTime": START, "lastTransitionTime": START}],
    }
    await host.patch(kinds.NODE, name, None, {"status": status}, subresource="status")


def is_no_basic(request: Request) -> bool:
    """Whether a request is not about what is applied every minute."""
    return not any(name in request.target for name in BASICS)


@pytest.fixture(scope="package")
async def recorded(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[tuple[World, Recorder]]:
    """A running syncer, and the recorder between it and its two clusters."""
    with pytest.MonkeyPatch.context() as patch:
        # The number of pods belongs to the step in which it changes.
        patch.setattr(limits, "COUNT_WRITES", limits.STATUS_WRITES)
        async with _running(control_plane, host) as made:
            yield made


@contextlib.asynccontextmanager
async def _running(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[tuple[World, Recorder]]:
    async with worlds.running_nested() as plane, await Api.connect(str(plane.kubeconfig), manager="tests") as nested:
        made = await worlds.build_world(host, control_plane, plane, nested)
        async with (
            await Api.connect(made.settings.host_kubeconfig) as host_side,
            await Api.connect(str(plane.kubeconfig)) as nested_side,
            Recorder({"host": host_side, "nested": nested_side}).serving() as recorder,
        ):
            recorder.words.literal[made.namespace] = "<host>"
            recorder.words.numbers[made.settings.kubelet_port] = "<port of the kubelet API>"
            recorder.words.fields |= {"caBundle": "<certificate>", "seal": "<seal>"}
            recorder.words.literal[f":{made.settings.services_port}/"] = ":<port of the webhook>/"
            recorder.words.private[r"^v1\.\d+\.\d+$"] = "<version of Kubernetes>"
            recorder.write_kubeconfig("nested", plane.access / "syncer.kubeconfig")
            kubeconfig = recorder.write_kubeconfig("host", plane.folder / "recorded.kubeconfig")
            made.settings = dataclasses.replace(made.settings, host_kubeconfig=str(kubeconfig))
            await made.start()
            recorder.heard = made.heard
            yield made, recorder
            await made.stop()


@pytest.fixture
async def world(recorded: tuple[World, Recorder]) -> World:
    """Both clusters."""
    return recorded[0]


@pytest.fixture
async def stage(
    world: World, recorded: tuple[World, Recorder], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Stage:
    """A scenario, by the name of its test's module: `test_config` plays in the namespace `config`."""
    monkeypatch.setattr(nodes.NodeRow, "linger_seconds", LINGER_SECONDS)
    monkeypatch.setattr(nodes, "FIRST_SECONDS", LINGER_SECONDS)
    monkeypatch.setattr(config.PodsRow, "linger_seconds", 0)  # the end of a copy belongs to the step in which its last pod goes
    recorder = recorded[1]
    await recorder.settle()
    recorder.steps, recorder.is_noted = [], is_no_basic
    return Stage(world, recorder, request.path.stem.removeprefix("test_"))
