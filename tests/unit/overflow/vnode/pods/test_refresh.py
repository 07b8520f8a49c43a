"""What pods were given stays up to date, where their backend can do that."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Forbidden, kinds
from nestor.overflow.vnode.pods import inputs
from nestor.overflow.vnode.pods.inputs import Refresher, find_period
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import NotFound, Unreachable
from tests.unit.overflow.vnode.world import SPACE, World

VOLUME = {"name": "v", "configMap": {"name": "settings"}}


class Refreshes:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Inputs]] = []
        self.error: Exception | None = None

    async def refresh(self, pod: Object, inputs: Inputs) -> None:
        self.asked.append((pod["metadata"]["name"], inputs))
        if self.error is not None:
            raise self.error


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "FIRST_SECONDS", 0.0)


@pytest.fixture
def refreshes() -> Refreshes:
    return Refreshes()


@pytest.fixture
def refresher(world: World, refreshes: Refreshes) -> Refresher:
    """One of a world that has a ConfigMap."""
    configure(world, "1")
    return Refresher(refreshes, world.pods.registry, world.health)


def configure(world: World, value: str) -> None:
    world.api.put(kinds.CONFIG_MAP, {"metadata": {"name": "settings", "namespace": SPACE}, "data": {"a": value}})


async def accept(world: World, name: str, **spec: Any) -> str:
    uid = await world.accept(name, **spec)
    await world.until(lambda: world.entry(uid).there == "Present")
    return uid


async def test_pods_that_were_given_something_get_it_anew_when_it_is_due(
    world: World, refreshes: Refreshes, refresher: Refresher
) -> None:
    await accept(world, "plain")
    await accept(world, "web", volumes=[VOLUME])
    configure(world, "2")
    await refresher.look()
    assert [(name, inputs.config_maps["settings"]["data"]) for name, inputs in refreshes.asked] == [("web", {"a": "2"})]
    await refresher.look()
    assert len(refreshes.asked) == 1
    assert world.backend.starts.total() == 2


async def test_what_is_not_there_or_is_over_is_left_alone(world: World, refreshes: Refreshes, refresher: Refresher) -> None:
    ended = await accept(world, "ended", volumes=[VOLUME])
    await accept(world, "ending", volumes=[VOLUME])
    gone = await accept(world, "gone", volumes=[VOLUME])
    world.backend.end(ended)
    await world.phase("ended", "Succeeded")
    world.backend.ends_at_once = False
    world.delete("ending")
    world.entry(gone).note_gone()
    await world.settle()
    await refresher.look()
    assert not refreshes.asked


@pytest.mark.parametrize("error", [NotFound("gone"), Unreachable("refused"), Forbidden(403, "Forbidden", "not yours")])
async def test_a_failure_is_tried_again_soon(
    world: World, refreshes: Refreshes, refresher: Refresher, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(inputs, "LOOK_SECONDS", 0.0)
    await accept(world, "web", volumes=[VOLUME], enableServiceLinks=True)
    is_ours = isinstance(error, Forbidden)  # of the API server, when the inputs are read
    refreshes.error = None if is_ours else error
    world.api.fault = lambda verb, _: error if verb == "LIST" and is_ours else None
    await refresher.look()
    refreshes.error, world.api.fault = None, lambda *_: None
    await refresher.look()
    await refresher.look()
    assert len(refreshes.asked) == (1 if is_ours else 2)


async def test_nothing_is_asked_of_a_backend_that_is_away(
    world: World, refreshes: Refreshes, refresher: Refresher, monkeypatch: pytest.MonkeyPatch
) -> None:
    await accept(world, "web", volumes=[VOLUME])
    monkeypatch.setattr(type(world.health), "is_answering", False)
    await refresher.look()
    assert not refreshes.asked


@pytest.mark.parametrize(
    ("seconds", "period"), [([], inputs.PERIOD_SECONDS), ([600], 200), ([3607], inputs.PERIOD_SECONDS), ([3607, 900], 300)]
)
def test_tokens_are_renewed_long_before_they_expire(seconds: list[int], period: float) -> None:
    sources = [{"serviceAccountToken": {"path": str(item), "expirationSeconds": item}} for item in seconds]
    pod = {"spec": {"volumes": [{"name": "t", "projected": {"sources": sources}}]}}
    assert find_period(pod) == period
