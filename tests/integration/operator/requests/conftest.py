"""An operator whose requests are recorded."""

import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nestor.api import labels
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import ACCOUNT, operator_running
from tests.integration.operator.world import Object, build_class
from tests.integration.requests import golden
from tests.integration.requests.golden import Rules
from tests.integration.requests.recorder import Recorder

RULES = Rules(
    sets=(
        # Named by what is posted, so that several of one object are under one key.
        r"/events/",
    ),
    once=(
        # Deletions, including the finalizer's, are requested again in each pass until the objects are gone.
        r"/(nestedappjobs|nestedclusters|pods|statefulsets|ingresses|rolebindings|clusterrolebindings|namespaces)/[^/]+$",
        # Backends: each pass tries to make a node whose name is another's.
        r"/(nodes|overflowbackends)/[^/]+$",
        r"/nodes$",
    ),
    # Server-side apply of a whole object or status: what is applied again while a cache lags, and which states a job's status
    # passes through on its way, is a matter of time.
    latest=(r"/(nestedappjobs|nestedclusters|overflowbackends)/[^/]+/status$",),
    left_out=(
        # kopf lists our kinds for its watches.
        r"^GET host /apis/nestor.dev/v1alpha1/[a-z]+$",
        r"^GET .*/customresourcedefinitions",
        r"^GET host /api/v1/namespaces$",
        # Tried where there is no such pod for 10 s.
        r"^POST .*/pods/[^/]+-k3s-0$",
        # Its StatefulSet goes at the same moment, and the garbage collector deletes it too.
        r"^DELETE .*/pods/[^/]+-k3s-0$",
    ),
    masked=(r"/secrets/(?!.*-plan)",),
)
SMALL: Object = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}


@dataclass
class RecordedPlane(apiserver.ControlPlane):
    """A control plane that the operator reaches through a recorder."""

    recorder: Recorder | None = None

    def kubeconfig_of(self, user: str) -> Path:
        """The recorder has the user's rights already."""
        assert self.recorder is not None
        return self.recorder.write_kubeconfig("host", self.folder / "recorded.kubeconfig")


@dataclass
class Stage:
    """Where one scenario plays: a user's namespace, and a class of its own."""

    api: Api
    recorder: Recorder
    space: str

    def step(self, title: str) -> Any:
        """See `Recorder.step`."""
        return self.recorder.step(title)

    async def set_up(self) -> None:
        """What is there before anything is recorded."""
        await self.api.apply(kinds.NAMESPACE, {"metadata": {"name": self.space}})
        await self.api.apply(kinds.NESTED_CLASS, self.build_class())
        await self.recorder.settle()

    def build_class(self, **namespace: Any) -> Object:
        """The scenario's class, with limits for its jobs' namespaces."""
        body = build_class(self.space, **{"from": ["ingress-here"]})
        body["spec"]["namespace"] = {"quota": {"pods": "10", "requests.cpu": "4"}, "defaultResources": SMALL} | namespace
        return body

    def check(self) -> None:
        """Compare what was recorded with the golden file of this scenario."""
        golden.check(f"operator/{self.space}", self.recorder, RULES)


@pytest.fixture(scope="package")
async def recorded(second_plane: apiserver.ControlPlane) -> AsyncIterator[Recorder]:
    """The recorder between a running operator and its API server."""
    async with (
        await Api.connect(str(second_plane.kubeconfig_of(ACCOUNT))) as rights,
        await Api.connect(str(second_plane.kubeconfig), manager="tests") as admin,
        Recorder({"host": rights}).serving() as recorder,
        operator_running(RecordedPlane(second_plane.folder, recorder=recorder)) as operator,
    ):
        recorder.words.fields[labels.CONTENT_KEY] = "<digest of certificates>"
        recorder.heard = functools.partial(operator.heard, admin)
        yield recorder


@pytest.fixture
async def stage(lonely: Api, recorded: Recorder, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A scenario, by the name of its test's module: `test_job` plays in the namespace `requests-job`. Its class goes with it."""
    await recorded.settle()
    recorded.steps = []
    made = Stage(lonely, recorded, "requests-" + request.path.stem.removeprefix("test_"))
    yield made
    await lonely.delete(kinds.NESTED_CLASS, made.space)
