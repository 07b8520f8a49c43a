"""The contract of `nestor.providers.base.Provider` as tests: what the syncer relies on, for any place where pods run.

To hold a provider of yours to it, write a test module with a class that inherits `contract.ProviderContract`, and a fixture
`place` that gives a `contract.Place`: the provider, and the few things that only you know how to do there.

    from tests.conformance.providers.contract import Place, ProviderContract

    class TestMyProvider(ProviderContract):
        @pytest.fixture
        async def place(self) -> AsyncIterator[Place]:
            async with my_place() as made:
                yield made

pytest must know asyncio tests (`asyncio_mode = auto`). `memory` is the smallest provider that passes, and stands for one in unit
tests; `tests/integration/providers` holds the host cluster to the contract, on a real API server.
"""
