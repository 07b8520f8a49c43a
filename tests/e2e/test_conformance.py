"""A slice of Kubernetes' own conformance tests in a nested cluster; `make conformance` runs all of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.build import cache
from devcluster.conformance import parts, target
from devcluster.conformance.results import Result
from devcluster.conformance.suite import Suite
from devcluster.progress import Console
from tests.e2e.conftest import IS_EMBEDDED

CLASS = "baseline"
PROCESSES = 2

pytestmark = [
    pytest.mark.xdist_group("conformance"),
    pytest.mark.long,
    pytest.mark.skipif(not IS_EMBEDDED, reason="elsewhere `make conformance` runs them all"),
]


@pytest.fixture(scope="module")
async def ended(kubeconfig: Path) -> AsyncIterator[dict[str, Result]]:
    """How each test of the slice ended, by name."""
    at = cache.default()
    await asyncio.to_thread(target.push_images, Console())
    nested = await asyncio.to_thread(target.open_nested, kubeconfig, CLASS, Console())
    suite = Suite(at.bin, at.conformance / "runs" / "slice", PROCESSES)
    try:
        found = await asyncio.to_thread(suite.run, parts.names(), nested, lambda _: None)
        yield {result.name: result for result in found}
    finally:
        await asyncio.to_thread(target.close_nested, kubeconfig, CLASS)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in parts.names()])
async def test_it_passes_in_a_nested_cluster(ended: dict[str, Result], name: str) -> None:
    assert name in ended, "it did not run"
    assert ended[name].state == "passed", ended[name].message
    print(ended[name].seconds, ended[name].message)
