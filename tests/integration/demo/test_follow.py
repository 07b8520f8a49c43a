"""Following a job against a real API server; the test plays the operator and the page."""

import asyncio
import functools
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from devcluster.demo import follow, show
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.fakes.pages import serving
from tests.integration import apiserver
from tests.waiting import eventually

NAME = "hello"


@pytest.fixture
async def api(host: Api) -> AsyncIterator[Api]:
    """An API server that has the job of hello-world."""
    await host.apply(kinds.NESTED_APP_JOB, show.job_of(show.EXAMPLE / "job.yaml"))
    yield host
    await host.delete(kinds.NESTED_APP_JOB, NAME, "default")


@pytest.fixture
async def site() -> AsyncIterator[str]:
    """A page at a host below .localhost; the first answers are 503, as while a pod starts."""
    answers = iter([503, 503])

    async def answer(request: web.Request) -> web.Response:
        assert request.host.startswith("hello-default.nestor.localhost:")
        return web.Response(status=next(answers, 200), text="<p>Hello</p>", content_type="text/html")

    async with serving(answer) as port:
        yield f"http://hello-default.nestor.localhost:{port}/"


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def report(api: Api, *conditions: Object, **status: Any) -> None:
    await api.patch(
        kinds.NESTED_APP_JOB, NAME, "default", {"status": {"conditions": list(conditions), **status}}, subresource="status"
    )


async def _has(lines: list[str], line: str) -> bool:
    return line in lines


ADMITTED = condition("Admitted", "True", "Accepted")
CLUSTER = condition("ClusterReady", "True", "Provisioned")
APPLIED = condition("StepsApplied", "True", "AllStepsApplied")


async def test_a_job_is_followed_to_its_page(api: Api, site: str) -> None:
    lines: list[str] = []
    following = asyncio.create_task(follow.Follower(api, NAME, "default", lines.append).run(30))
    await report(api, ADMITTED, condition("Ready", "False", "Provisioning", "a pod is starting"))
    steps = [{"name": "web-server", "type": "kubectl", "state": "Succeeded", "attempt": 1, "maxAttempts": 1}]
    await report(api, ADMITTED, CLUSTER, APPLIED, steps=steps, url=site, kubernetesVersion="v1.36.3")
    # Its page counts, not the condition that reports it.
    await eventually(functools.partial(_has, lines, "HTTP 200"))
    exposed, ready = condition("Exposed", "True", "IngressReady"), condition("Ready", "True", "AppReady")
    await report(api, ADMITTED, CLUSTER, APPLIED, exposed, ready, steps=steps, url=site, kubernetesVersion="v1.36.3")
    job, content = await following
    assert (job["status"]["url"], content) == (site, "<p>Hello</p>")
    told = [
        "admitted: class 'default'",
        "cluster ready: Kubernetes v1.36.3",
        "step 1 of 1 'web-server' succeeded",
        "HTTP 200",
        "ready",
    ]
    assert [line for line in lines if line in told] == told


async def test_a_job_that_cannot_get_ready_is_given_up_at_once_with_the_conditions_words(api: Api) -> None:
    following = asyncio.create_task(follow.Follower(api, NAME, "default", lambda _: None).run(30))
    await report(api, *(condition(kind, "False", "VersionUnsupported", "available: v1.36") for kind in ("Admitted", "Ready")))
    with pytest.raises(follow.Failed, match=r"VersionUnsupported: available: v1\.36"):
        await following


async def test_a_job_that_takes_too_long_is_given_up_with_what_it_waits_for(api: Api) -> None:
    await report(api, ADMITTED, condition("Ready", "False", "ImagePullFailed", "pod 'hello-run': no such image"))
    with pytest.raises(follow.Failed, match=r"Not ready after 0\.5 s. ImagePullFailed: pod 'hello-run': no such image"):
        await follow.Follower(api, NAME, "default", lambda _: None).run(0.5)


async def test_a_cluster_that_goes_away_is_told_as_such(control_plane: apiserver.ControlPlane, tmp_path: Path) -> None:
    [port] = apiserver.free_ports(1)
    lost = tmp_path / "kubeconfig"
    lost.write_text(re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", control_plane.kubeconfig.read_text()))
    async with await Api.connect(str(lost)) as nobody:
        with pytest.raises(follow.Failed, match="API server does not answer any more"):
            await follow.Follower(nobody, NAME, "default", lambda _: None).run(0.5)
