"""A certificate that the API server does not accept any more begins a new process: no cache would ever be filled with it."""

from typing import cast

import pytest

from nestor.kube import Api, ApiError, Forbidden, Unreachable
from nestor.overflow.vnode import restart
from nestor.overflow.vnode.restart import REFUSAL_LIMIT, IdentityRefused, watch_identity
from tests.unit.overflow.vnode.world import NodeApi

REFUSED = ApiError(401, "Unauthorized", "Unauthorized")
ALMOST = [REFUSED] * (REFUSAL_LIMIT - 1)


@pytest.mark.parametrize("glitch", [None, Unreachable("refused"), Forbidden(403, "Forbidden", "not yet")])
async def test_only_what_is_refused_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch, glitch: ApiError | None) -> None:
    monkeypatch.setattr(restart, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(restart, "PAUSE_SECONDS", 0.0)
    api, left = NodeApi(), [*ALMOST, glitch, *ALMOST, glitch, *ALMOST, REFUSED]
    api.fault = lambda *_: left.pop(0)
    with pytest.raises(IdentityRefused, match="of node 'far' is not accepted"):
        await watch_identity(cast(Api, api), "far")
    assert not left
