"""One process at a time holds a Lease, whatever is slow, lost, or refused."""

import random
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import ApiError, Unreachable, kinds
from nestor.kube.election import Election, LeaseLost
from tests.fakes.api import MemoryApi

DURATION, DEADLINE, RETRY = 15, 10, 2


NAME, SPACE = "nestor-operator", "nestor-system"


def well(*_: str) -> None:
    """No fault."""


def away(*_: str) -> ApiError:
    return ApiError(500, "InternalError", "etcd is away")


def unanswered(*_: str) -> Unreachable:
    return Unreachable("no answer")


class Server(MemoryApi):
    """One Lease, and a clock that only tests move."""

    now = 1000.0

    @property
    def lease(self) -> Object:
        found = self.look(kinds.LEASE, NAME, SPACE)
        assert found is not None
        return found

    def remove(self) -> None:
        self.drop(kinds.LEASE, NAME, SPACE)

    def edit(self, *_: Any, **labels: str) -> None:
        """By somebody who does not want it."""
        self.put(kinds.LEASE, self.lease | {"metadata": self.lease["metadata"] | {"labels": labels}})


@pytest.fixture
def server() -> Server:
    return Server()


def candidate(server: Server, place: str) -> Election:
    api: Any = server
    return Election(api, NAME, SPACE, place, DURATION, lambda: server.now)


@pytest.fixture
async def first(server: Server) -> Election:
    """The one that has the Lease."""
    made = candidate(server, "a")
    assert await made.attempt()
    return made


def leads(election: Election) -> bool:
    try:
        return election.find_left() > 0
    except (LeaseLost, Unreachable):
        return False


async def test_the_first_has_it_and_the_second_waits_while_it_is_renewed(server: Server, first: Election) -> None:
    second = candidate(server, "b")
    for _ in range(40):
        assert not await second.attempt()
        server.now += RETRY
        await first.renew()
    assert (leads(first), leads(second)) == (True, False)
    assert second.holder == first.identity
    assert (server.lease["spec"]["leaseDurationSeconds"], server.lease["spec"]["leaseTransitions"]) == (15, 0)


async def test_the_second_takes_over_after_the_whole_duration_as_it_saw_it(server: Server, first: Election) -> None:
    second = candidate(server, "b")
    server.now += 100
    assert not await second.attempt()  # it has just begun to look, and its clock need not be the first one's
    server.now += DURATION
    assert not await second.attempt()
    server.now += 1
    assert not leads(first)
    assert await second.attempt()
    assert server.lease["spec"]["leaseTransitions"] == 1
    with pytest.raises(LeaseLost):
        await first.renew()


async def test_what_is_released_is_had_at_once(server: Server, first: Election) -> None:
    second = candidate(server, "b")
    await first.release()
    assert not leads(first)
    assert await second.attempt()
    await first.release()
    assert server.lease["spec"]["holderIdentity"] == second.identity


async def test_what_was_written_without_an_answer_is_released_too(server: Server) -> None:
    """As when a process is told to end while a renewal, or its first attempt, is under way."""
    for step in ("attempt", "renew"):
        first = candidate(server, "a")
        if step == "renew":
            await first.attempt()
        server.lost = unanswered
        await getattr(first, step)()
        server.lost = well
        await first.release()
        assert not leads(first)
        assert await candidate(server, "b").attempt(), step
        server.remove()


async def test_a_renewal_that_arrives_late_does_not_keep_the_lease(server: Server, first: Election) -> None:
    late = [server.edit]
    server.fault = lambda verb, _: late.pop()() if verb == "PUT" and late else None
    await first.release()
    assert await candidate(server, "b").attempt()


async def test_a_release_that_fails_is_only_told(server: Server, first: Election, caplog: pytest.LogCaptureFixture) -> None:
    server.fault = away
    with caplog.at_level("INFO", logger="nestor.kube.election"):
        await first.release()
    assert "Lease 'nestor-operator' was not released: " in caplog.text
    assert not leads(first)


async def test_a_new_process_of_the_same_pod_does_not_wait(server: Server) -> None:
    await candidate(server, "nestor-6c9d-x").attempt()
    assert not await candidate(server, "nestor-6c9d").attempt()
    assert await candidate(server, "nestor-6c9d-x").attempt()


async def test_a_renewal_whose_answer_was_lost_and_a_label_of_somebody_else_depose_nobody(
    server: Server, first: Election
) -> None:
    server.lost = unanswered
    await first.renew()
    server.lost = well
    await first.renew()  # a conflict: it reads what it has written
    server.edit(team="a")
    await first.renew()
    server.now += RETRY
    await first.renew()
    server.now += DEADLINE - 1
    assert leads(first)


async def test_one_without_answers_writes_nothing_from_before_anybody_can_take_it_and_goes_on_if_nobody_has(
    server: Server, first: Election
) -> None:
    server.fault = away
    server.now += DEADLINE - 1
    await first.renew()
    assert leads(first)
    server.now += 1
    await first.renew()
    with pytest.raises(Unreachable, match="has not been renewed for 10 s"):
        first.find_left()
    server.now += 10 * DURATION
    server.fault = well
    await first.renew()
    assert leads(first)


async def test_one_that_is_late_ends_if_another_had_it_meanwhile(server: Server) -> None:
    for is_released in (False, True):
        first, second = candidate(server, "a"), candidate(server, "b")
        await first.attempt()
        await second.attempt()
        server.now += DURATION + 1
        assert await second.attempt()
        if is_released:
            await second.release()
        with pytest.raises(LeaseLost, match="is held by"):
            await first.renew()
        with pytest.raises(LeaseLost):
            first.find_left()
        server.remove()


async def test_what_somebody_deletes_is_not_held_any_more(server: Server, first: Election) -> None:
    server.remove()
    with pytest.raises(LeaseLost, match="gone"):
        await first.renew()


@pytest.mark.parametrize("seed", range(30))
async def test_there_are_never_two_at_once(seed: int) -> None:
    """Three candidates, faults and pauses of any length, at random."""
    dice, server = random.Random(seed), Server()
    candidates = [candidate(server, place) for place in "abc"]
    changes = 0
    for _ in range(400):
        server.now += dice.choice((0.1, 0.5, 2, 2, 4, 30))
        server.fault = away if dice.random() < 0.2 else well
        server.lost = unanswered if dice.random() < 0.1 else well
        number = dice.randrange(3)
        if candidates[number].holder == candidates[number].identity:  # perhaps late
            try:
                await candidates[number].renew()
            except LeaseLost:
                candidates[number] = candidate(server, "abc"[number])
        else:
            candidates[number] = candidate(server, "abc"[number]) if dice.random() < 0.1 else candidates[number]
            changes += await candidates[number].attempt()
        assert sum(leads(item) for item in candidates) <= 1
    assert changes >= 2
