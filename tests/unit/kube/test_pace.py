"""Bursts pass, and then a rate is kept."""

import heapq

import pytest

from nestor.kube.pace import Bucket, Buckets, Pace, Rate


@pytest.mark.parametrize(
    ("taken", "at", "amount", "wait"),
    [
        ([], 0, 1, 0),
        ([1] * 4, 0, 1, 0),
        ([1] * 5, 0, 1, 0.5),
        ([1] * 5, 0.25, 1, 0.25),
        ([1] * 5, 0.5, 1, 0),
        ([1] * 5, 100, 5, 0),
        ([3], 0, 3, 0.5),
        # What is larger than the burst passes when the bucket is full, and is paid for afterwards.
        ([], 0, 50, 0),
        ([50], 0, 1, 23),
        ([1], 0, 50, 0.5),
    ],
)
def test_a_bucket_of_five_that_gets_two_a_second(taken: list[float], at: float, amount: float, wait: float) -> None:
    bucket = Bucket(Rate(per_second=2, burst=5))
    for item in taken:
        bucket.take(0, item)
    assert bucket.find_wait(at, amount) == pytest.approx(wait)


def test_buckets_are_apart_and_forgotten_when_full() -> None:
    buckets: Buckets[str] = Buckets(Rate(per_second=1, burst=2))
    for key in ("a", "a", "b"):
        assert buckets.find_wait(key, 10) == 0
        buckets.take(key, 10)
    assert (buckets.find_wait("a", 10), buckets.find_wait("b", 10), buckets.find_wait("c", 10)) == (1, 0, 0)
    assert len(buckets) == 2
    buckets.take("c", 20)
    assert len(buckets) == 1
    for number in range(1000):
        buckets.take(str(number), 30 + number)
    assert len(buckets) <= 2
    slow: Buckets[str] = Buckets(Rate(per_second=0.01, burst=30))
    for _ in range(30):
        slow.take("empty", 0)
    for number in range(2000):
        slow.take(str(number), number)
    assert len(slow) < 250, "those that are full go although another is not"


def pace() -> Pace:
    """Ten writes at once and then two a second; 100 bytes at once and then ten a second."""
    return Pace(Rate(2, 10), Rate(10, 100), small=20)


def test_small_writes_do_not_wait_for_large_ones() -> None:
    limited = pace()
    assert limited.find_wait(100, 0) == 0
    assert limited.find_wait(50, 0) == 5
    assert limited.find_wait(20, 0) == 0


def test_those_that_wait_ask_again_one_by_one_and_none_asks_much_more_often_than_it_must() -> None:
    """A thousand writers at once: the rate is kept and used, and the questions are about as many as the writes."""
    limited, times = pace(), [(0.0, writer) for writer in range(1000)]
    heapq.heapify(times)
    written, asked = [], 0
    while times and times[0][0] <= 100:
        now, writer = heapq.heappop(times)
        asked += 1
        if wait := limited.find_wait(1, now):
            heapq.heappush(times, (now + wait, writer))
        else:
            written.append(now)
    assert written[:10] == [0] * 10
    assert 10 + 2 * 100 * 0.9 <= len(written) <= 10 + 2 * 100
    assert asked < 1000 + 1000 * 100 / 30 + len(written)


def test_nobody_waits_for_longer_than_half_a_minute_before_asking_again() -> None:
    limited = pace()
    waits = [limited.find_wait(1, 0) for _ in range(1000)]
    assert waits[:10] == [0] * 10
    assert max(waits) == 30
