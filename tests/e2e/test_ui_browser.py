"""`nestor ui` as people without kubectl use it: a browser, from the catalog to a page that answers, and to the end of the job.

With NESTOR_PICTURES=FOLDER, its pictures for the documentation are taken: `NESTOR_PICTURES=docs/pictures`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from nestor.kube import Api, kinds
from tests import children
from tests.browser import browsing, find_barriers, take
from tests.e2e.conftest import ROOT, Cluster, Object, Web, image
from tests.waiting import wait_for

READY_MILLISECONDS = 90_000
ICON = ROOT / "src/nestor/ui/static/icon.svg"
OTHERS = {
    "notebook": ("Notebook", "Python in the browser, with the cluster's GPUs and a folder that is kept."),
    "training": ("Training", "Trains a model on several nodes at once, and starts again where it stopped."),
    "render": ("Render farm", "Renders the frames of a film, each on the node that is free."),
}


@contextlib.asynccontextmanager
async def serving(cluster: Cluster, namespace: str) -> AsyncIterator[str]:
    """`nestor ui` with the admin's kubeconfig; its link."""
    command = ["-m", "nestor", "--kubeconfig", str(cluster.kubeconfig), "-n", namespace, "ui", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    starting = children.running(
        sys.executable, *command, env=environment, cwd="/", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    async with starting as process, asyncio.timeout(300):
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()


@pytest.fixture
async def catalog(api: Api) -> AsyncIterator[str]:
    """An application with steps of four types, among others."""
    ending = uuid.uuid4().hex[:6]
    definition = json.loads((ROOT / "examples/07-four-types/AppDef.json").read_text())
    icon = {"type": "image/svg+xml", "data": base64.b64encode(ICON.read_bytes()).decode()}
    apps = {
        f"web-shop-{ending}": {
            "image": image("examples/four-types:1"),
            "appDef": definition | {"name": "Web shop", "image": icon},
        }
    }
    for name, (title, about) in OTHERS.items():
        apps[f"{name}-{ending}"] = {
            "image": image("examples/four-types:1"),
            "appDef": definition | {"name": title, "description": about},
        }
    for name, spec in apps.items():
        await api.create(
            kinds.NESTED_APP, {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedApp", "metadata": {"name": name}, "spec": spec}
        )
    yield next(iter(apps))
    for name in apps:
        await api.delete(kinds.NESTED_APP, name)


@pytest.mark.long
async def test_a_job_from_the_catalog_to_its_end(api: Api, namespace: str, cluster: Cluster, web: Web, catalog: str) -> None:
    async with serving(cluster, namespace) as link, browsing() as browser:
        page = await browser.new_page()
        await page.goto(link)
        card = page.locator(f'a[href="/apps/{catalog}"]')
        await expect(card).to_be_visible()
        await take(page, "catalog")
        await card.click()
        await page.get_by_label("Greeting").fill("Hello from the browser")
        await page.get_by_label("Web servers").fill("2")
        await page.get_by_label("End it after").fill("8")
        await page.get_by_label("Name of the job").fill("shop")
        await take(page, "form")
        await page.get_by_role("button", name="Run Web shop").click()

        # Nobody reloads the page: it follows.
        await expect(page.get_by_role("heading", name="web-servers")).to_be_visible(timeout=READY_MILLISECONDS)
        await take(page, "starting")
        link_out = page.get_by_role("link", name="Open its page in a new tab")
        await expect(link_out).to_be_visible(timeout=READY_MILLISECONDS)
        await expect(page.locator("#live_head")).to_contain_text("Ready", timeout=READY_MILLISECONDS)
        await expect(page.get_by_role("heading", name="In this cluster")).to_be_visible()
        await expect(page.locator("#live_pods")).to_contain_text("database-")
        assert await find_barriers(page) == []
        await take(page, "job")
        url = await link_out.get_attribute("href")
        assert url is not None
        assert "Hello from the browser" in await web.page(url)
        job = await api.get(kinds.NESTED_APP_JOB, "shop", namespace)
        assert job["spec"]["activeDeadlineSeconds"] == 8 * 3600

        await page.get_by_role("link", name="Output of all steps").click()
        await expect(page.get_by_role("log")).to_contain_text("[web-servers] ")
        await take(page, "output")
        await page.get_by_role("link", name="shop").click()
        await page.get_by_role("link", name="Output of pod database-").click()
        await expect(page.get_by_role("log")).to_contain_text("eady to accept connections")
        await page.go_back()

        await _suspend_resume_extend(page)
        await wait_for(api, kinds.NESTED_APP_JOB, "shop", namespace, lambda found: runs_for(found, 9 * 3600))
        await page.get_by_role("link", name="Delete…").click()
        await take(page, "delete")
        await page.get_by_role("button", name="Delete it").click()
        await expect(page.get_by_text("There are no jobs here")).to_be_visible(timeout=READY_MILLISECONDS)
        assert await api.find(kinds.NESTED_APP_JOB, "shop", namespace) is None


async def _suspend_resume_extend(page: Page) -> None:
    await page.get_by_role("button", name="Suspend").click()
    await expect(page.locator("#live_head")).to_contain_text("Suspended", timeout=READY_MILLISECONDS)
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("The job is being resumed.")).to_be_visible()
    await page.get_by_role("button", name="Add").click()
    await expect(page.get_by_text("The job has more time now.")).to_be_visible()


def runs_for(found: Object | None, seconds: int) -> bool:
    """Whether a job is there, goes on, and ends after so many seconds."""
    spec = (found or {}).get("spec") or {}
    return spec.get("activeDeadlineSeconds") == seconds and not spec.get("suspend")
