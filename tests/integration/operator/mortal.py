"""An operator whose writes take a random time, so that concurrent ones land in any order, and that dies in the midst of them.

`python -m tests.integration.operator.mortal operator`. `TEST_SEED` says how long each write is held, and `TEST_WRITES`, after how
many of them it is killed. What is held then never lands, and of what was sent, nobody hears any more.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
from typing import Any

from nestor import __main__
from nestor.kube import Api

MOST_SECONDS = 0.5
_chance = random.Random(os.environ["TEST_SEED"])
_landed = itertools.count(1)
_most = int(os.environ["TEST_WRITES"])
_request = Api.request


async def _hold() -> None:
    """Mostly for a short time, sometimes for a long one."""
    await asyncio.sleep(MOST_SECONDS * _chance.random() ** 3)


async def _request_late(self: Api, method: str, *arguments: Any, **options: Any) -> Any:
    if method == "GET":
        return await _request(self, method, *arguments, **options)
    await _hold()
    answer = await _request(self, method, *arguments, **options)
    if next(_landed) == _most:
        os.kill(os.getpid(), signal.SIGKILL)
    await _hold()  # its news may come before its answer
    return answer


Api.request = _request_late  # type: ignore[assignment,method-assign]
__main__.main()
