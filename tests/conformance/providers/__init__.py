"""The conformance suite for places where pods run: it tests everything that virtual nodes rely on (`pods.providers.base`).

To test your backend, write a class that inherits `backend.BackendContract`, with a fixture `place` that yields a
`backend.BackendPlace`: your backend, plus a few helpers that are different for every one.

    from tests.conformance.providers.backend import BackendContract, BackendPlace

    class TestMine(BackendContract):
        @pytest.fixture
        async def place(self) -> AsyncIterator[BackendPlace]:
            async with my_place() as made:
                yield made

With `logs`, `streams`, `lists` or `updates`, it also inherits `contract.LogsContract`, `contract.StreamsContract`,
`contract.ListsContract` or `backend.UpdatesContract`.

Then run `pytest` on that module from the root of Nestor's repository, with `PYTHONPATH=src:.` and pytest-asyncio's
`asyncio_mode = auto` (set in `pyproject.toml`).

Examples: `tests/integration/providers/test_host.py` runs the suite for the host cluster on a real API server, and
`tests/unit/overflow/interlink/test_contract.py` for an interLink backend.
"""
