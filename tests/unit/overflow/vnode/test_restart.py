"""A certificate that the API server does not accept is found at the start: no cache would ever be filled with it."""

from __future__ import annotations

from typing import cast

import pytest

from nestor.kube import Api, ApiError, Forbidden, Unreachable
from nestor.overflow.vnode import restart
from nestor.overflow.vnode.restart import REFUSAL_LIMIT, IdentityRefused, check_accepted
from tests.unit.overflow.vnode.world import NodeApi

REFUSED = ApiError(401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        ([None], 1),
        ([REFUSED, None], 2),
        ([REFUSED] * (REFUSAL_LIMIT - 1) + [None], REFUSAL_LIMIT),
        ([Unreachable("refused")], 1),
        ([Forbidden(403, "Forbidden", "not yet")], 1),
        ([REFUSED] * REFUSAL_LIMIT, REFUSAL_LIMIT),
    ],
)
async def test_only_what_is_refused_again_and_again_is_given_up(
    monkeypatch: pytest.MonkeyPatch, answers: list[ApiError | None], calls: int
) -> None:
    monkeypatch.setattr(restart, "PAUSE_SECONDS", 0.0)
    api, left = NodeApi(), list(answers)
    api.before_read = lambda _: left.pop(0)
    if answers[-1] is REFUSED:
        with pytest.raises(IdentityRefused, match="of node 'far' is not accepted"):
            await check_accepted(cast(Api, api), "far")
    else:
        await check_accepted(cast(Api, api), "far")
    assert len(answers) - len(left) == calls
