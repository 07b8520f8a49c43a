"""What `make demo` runs, on the tests' cluster: ends with the page and its URL, and can be run twice."""

import sys

import pytest

from devcluster.demo import show
from nestor.kube import Api, kinds
from tests import children
from tests.e2e.conftest import LIMIT_SECONDS, ROOT, Cluster
from tests.waiting import gone

pytestmark = pytest.mark.long


async def run_demo(command: str = "up") -> tuple[int, str]:
    """The command; its exit code and what it printed."""
    return await children.run(sys.executable, "-m", "devcluster.demo", command, limit=LIMIT_SECONDS, cwd=ROOT)


async def test_the_demo_prints_the_page_and_its_url_and_may_be_run_again(api: Api, cluster: Cluster) -> None:
    name = show.job_of(show.choose_example())["metadata"]["name"]
    code, output = await run_demo()
    assert code == 0, output
    assert "│ Hello from a nested cluster" in output
    assert cluster.url(f"{name}-default") in output
    assert "From `kubectl apply` to HTTP 200:" in output
    again, output = await run_demo()
    assert again == 0, output
    assert "runs already" in output
    assert "│ Hello from a nested cluster" in output
    await api.delete(kinds.NESTED_APP_JOB, name, "default")
    await gone(api, kinds.NESTED_APP_JOB, name, "default")
