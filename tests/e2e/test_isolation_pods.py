"""What an app pod reaches, as root in its container: its own cluster, and nothing besides."""

import asyncio

import pytest

from tests.e2e import attacks
from tests.e2e.attacks import Attack
from tests.e2e.conftest import IS_EMBEDDED
from tests.e2e.isolation import Arena, Found, Side, join, list_controls, list_needs, run_script, until_works

pytestmark = [
    pytest.mark.xdist_group("isolation"),
    pytest.mark.skipif(not IS_EMBEDDED, reason="stand-ins for clouds need routes on the nodes"),
]


async def attack_from(arena: Arena, side: Side, other: Side, wanted: tuple[Attack, ...]) -> Found:
    """What became of the attacks from the pods on both nodes; what is about a pod's own node is left to the other one."""
    facts = arena.facts_for(side, other)

    async def attack(pod: str, node: str) -> Found:
        attempts = [item.fill(facts) for item in wanted if not item.node or facts[item.node] != node]
        found = await run_script(side.inside, "default", pod, attempts)
        return {name: result | {"pod": pod} for name, result in found.items()}

    return join(await asyncio.gather(attack("near", facts["first_node"]), attack("far", facts["second_node"])))


@pytest.fixture(scope="module")
async def found(arena: Arena) -> Found:
    """By the job that may use the internet, once it reaches all that it must."""
    side = arena.attacker
    await asyncio.gather(
        *(until_works(side.inside, "default", pod, list_needs(side, has_internet=True)) for pod in ("near", "far"))
    )
    return await attack_from(arena, side, arena.victim, attacks.APP)


@pytest.fixture(scope="module")
async def closed(arena: Arena) -> Found:
    """By the job that may not."""
    side = arena.victim
    await asyncio.gather(
        *(until_works(side.inside, "default", pod, list_needs(side, has_internet=False)) for pod in ("near", "far"))
    )
    return await attack_from(arena, side, arena.attacker, attacks.CLOSED)


@pytest.mark.parametrize("attack", attacks.CONTROLLED, ids=lambda item: item.id)
async def test_what_no_job_reaches_is_there_for_others(arena: Arena, attack: Attack) -> None:
    seen = list_controls(arena.controls, attack)
    assert any(item["verdict"] == "open" for item in seen) == attack.is_listening, seen


@pytest.mark.parametrize("attack", attacks.APP, ids=lambda item: item.id)
async def test_an_app_pod_does_not_reach(found: Found, attack: Attack) -> None:
    assert found[attack.id]["verdict"] == "refused", found[attack.id]


@pytest.mark.parametrize("attack", attacks.CLOSED, ids=lambda item: item.id)
async def test_an_app_pod_without_internet_does_not_reach(closed: Found, attack: Attack) -> None:
    assert closed[attack.id]["verdict"] == "refused", closed[attack.id]
