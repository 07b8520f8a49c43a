"""What one nested cluster may cost the host."""

import pytest

from nestor.kube import kinds
from nestor.syncer import limits
from nestor.syncer.copies.rows import find_rows
from nestor.syncer.limits import COPIED_BYTES


@pytest.mark.parametrize(
    ("total", "before", "after", "is_refused"),
    [
        (0, 0, 1000, False),
        (COPIED_BYTES - 1000, 0, 1000, False),
        (COPIED_BYTES - 1000, 0, 1001, True),
        (COPIED_BYTES, 500, 500, False),
        (COPIED_BYTES, 500, 501, True),
        # What is there already may shrink, even while there is too much.
        (2 * COPIED_BYTES, 500, 499, False),
        (2 * COPIED_BYTES, 0, 1, True),
        (2 * COPIED_BYTES, 0, 0, False),
    ],
)
def test_data_is_bounded_in_total(total: int, before: int, after: int, is_refused: bool) -> None:
    message = limits.find_excess(total, before, after)
    assert (message is not None) is is_refused
    assert not is_refused or "32 MiB in total" in str(message)


def test_every_kind_of_copies_has_a_number_or_a_bound_of_its_own() -> None:
    """Data is bounded in total, and claims have the class's quota."""
    others = {kinds.CONFIG_MAP, kinds.SECRET, kinds.PERSISTENT_VOLUME_CLAIM}
    down = {row.kind for row in find_rows() if row.direction == "Down"}
    assert down - limits.MOST_COPIES.keys() == others, "say in limits.py how many there may be"


def test_an_ordinary_job_starts_at_full_speed() -> None:
    """Fifty pods with a token each, fifty ConfigMaps and Secrets and twenty Services are written in one go."""
    assert limits.HOST_WRITES.burst >= 50 + 50 + 50 + 20
    assert limits.HOST_BYTES.burst >= limits.COPIED_BYTES


def test_small_writes_alone_stay_below_the_rate_of_bytes() -> None:
    assert limits.SMALL_BYTES * limits.HOST_WRITES.per_second < limits.HOST_BYTES.per_second
