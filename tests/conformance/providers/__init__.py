"""The conformance suite for providers: it tests everything that the syncer and virtual nodes rely on (`pods.providers.base`).

To test your provider, write a class that inherits `contract.ProviderContract`, with a fixture `place` that yields a
`contract.Place`: your provider, plus a few helpers that are different for every provider.

    from tests.conformance.providers.contract import Place, ProviderContract

    class TestMyProvider(ProviderContract):
        @pytest.fixture
        async def place(self) -> AsyncIterator[Place]:
            async with my_place() as made:
                yield made

A provider with `logs` or `streams` also inherits `contract.LogsContract` or `contract.StreamsContract`.

A backend inherits `backend.BackendContract` instead, with a `backend.BackendPlace`; if it has `lists` or `patches`, also
`contract.ListsContract` or `contract.PatchesContract`.

Then run `pytest` on that module from the root of Nestor's repository, with `PYTHONPATH=src:.` and pytest-asyncio's
`asyncio_mode = auto` (set in `pyproject.toml`).

Examples: `tests/integration/providers/test_host.py` runs the suite for the host cluster on a real API server, and
`tests/unit/overflow/interlink/test_contract.py` for an interLink backend.
"""
