"""`nestor ui` in a real browser: everybody can use it, with a keyboard, a screen reader, in the dark, without scripts."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Literal

import pytest
from playwright.async_api import Page, expect

from nestor.kube import Api, kinds
from tests.browser import SIZE, browsing, find_barriers
from tests.integration.cli import test_ui
from tests.integration.cli.conftest import CommandLine, Object, create, report
from tests.integration.cli.test_ui import opened
from tests.unit.cli import builders
from tests.unit.cli.builders import ADMITTED, APPLIED, CLUSTER, EXPOSED, READY, RUNNING, step

app = test_ui.app
CLASS: Object = {
    "cluster": {"versions": [{"version": "v1.36", "image": "registry.test/k3s:1"}], "coreDNSImage": "registry.test/coredns:1"},
    "placement": {"machines": [{"name": "small"}, {"name": "large", "description": "16 CPUs"}], "defaultMachine": "small"},
}


@contextlib.asynccontextmanager
async def looking(
    cli: CommandLine, scheme: Literal["light", "dark"] = "light", *, with_scripts: bool = True
) -> AsyncIterator[Page]:
    """A browser that came in by the link."""
    async with opened(cli, signs_in=False) as server, browsing(scheme, with_scripts=with_scripts) as browser:
        page = await browser.new_page()
        await page.goto(server.link)
        await page.wait_for_url(f"{server.base}/")
        yield page


def base(page: Page) -> str:
    return "/".join(page.url.split("/")[:3])


@pytest.fixture
async def job(host: Api, namespace: str) -> Object:
    """A job that runs."""
    found = await create(host, namespace, activeDeadlineSeconds=3600)
    home = f"own-{namespace}"
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": home}})
    waits = builders.condition("StepsApplied", "False", "StepRunning", "step 1 of 1 'web' is running")
    return await report(host, found, ADMITTED, CLUSTER, waits, RUNNING, namespace=home, steps=[step("web", "Running")])


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_keeps_anybody_from_using_a_page(
    cli: CommandLine, host: Api, app: str, namespace: str, scheme: Literal["light", "dark"]
) -> None:
    await host.apply(kinds.NESTED_CLASS, {"metadata": {"name": "default"}, "spec": CLASS})
    # In the dark, a page of each kind: only the colours differ.
    shown = builders.STATES if scheme == "light" else {name: builders.STATES[name] for name in ("ready", "retrying", "completed")}
    for name, build in shown.items():
        state = build()
        limits = {"ttlSecondsAfterFinished": 60, "activeDeadlineSeconds": 60, "suspend": bool(state["spec"].get("suspend"))}
        made = await create(host, namespace, name, parameters={"SIZE": 2, "PASSWORD": "x"}, **limits)
        status = state.get("status") or {}
        if status:
            more = {key: value for key, value in status.items() if key not in ("conditions", "observedGeneration", "namespace")}
            await report(host, made, *status["conditions"], **more)
    paths = ["/", f"/apps/{app}", f"/jobs?namespace={namespace}", "/jobs?namespace=default", "/jobs?namespace=*", "/no-such-page"]
    paths += [f"/jobs/{namespace}/{name}" for name in shown]
    paths += [f"/jobs/{namespace}/ready/delete", f"/jobs/{namespace}/completed/rerun", f"/jobs/{namespace}/ready/logs/steps"]
    async with looking(cli, scheme) as page:
        for path in paths:
            await page.goto(base(page) + path)
            assert await find_barriers(page) == [], path
            await page.set_viewport_size({"width": 390, "height": 800})
            assert await page.evaluate("document.documentElement.scrollWidth") == 390, f"{path} is wider than a phone"
            await page.set_viewport_size(SIZE)
        await page.goto(f"{base(page)}/apps/{app}")
        await page.get_by_role("button", name="Run").click()
        await expect(page.get_by_role("alert")).to_contain_text("Please correct")
        assert await find_barriers(page) == []


async def test_a_job_is_made_with_the_keyboard_alone(cli: CommandLine, host: Api, app: str, namespace: str) -> None:
    async with looking(cli) as page:
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        for _ in range(30):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.getAttribute('href')") == f"/apps/{app}":
                break
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("<b>Web</b> shop")
        await page.keyboard.press("Tab")
        title = page.get_by_label("TITLE")
        for _ in range(30):
            if await title.evaluate("item => item === document.activeElement"):
                break
            await page.keyboard.press("Tab")
        await page.keyboard.type("By hand")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Nobody has reported on this job yet.")).to_be_visible()
    (job,) = await host.list(kinds.NESTED_APP_JOB, namespace)
    assert job["spec"]["parameters"] == {"TITLE": "By hand"}


async def test_what_happens_is_shown_and_told_while_people_stay_where_they_are(
    cli: CommandLine, host: Api, job: Object, namespace: str
) -> None:
    async with looking(cli) as page:
        await page.goto(f"{base(page)}/jobs/{namespace}/shop")
        await expect(page.locator("body[data-fresh]")).to_be_visible()
        button = page.get_by_role("button", name="Suspend")
        await button.focus()
        field = page.get_by_role("textbox", name="Let it run longer by")
        await field.fill("7")
        await button.focus()
        home = job["status"]["namespace"]
        done = [step("web")]
        await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, namespace=home, steps=done, url=test_ui.URL)
        await expect(page.get_by_role("link", name="Open its page in a new tab")).to_have_attribute("href", test_ui.URL)
        await expect(page.locator("#announce")).to_contain_text("shop: Ready")
        await expect(button).to_be_focused()
        await expect(field).to_have_value("7")
        await host.delete(kinds.NESTED_APP_JOB, "shop", namespace)
        await expect(page.get_by_role("status").filter(has_text="it was deleted")).to_be_visible()


async def test_a_server_that_is_gone_is_told(cli: CommandLine, job: Object, namespace: str) -> None:
    async with browsing() as browser:
        page = await browser.new_page()
        async with opened(cli, signs_in=False) as server:
            await page.goto(server.link)
            await page.wait_for_url(f"{server.base}/")
            await page.goto(f"{server.base}/jobs/{namespace}/shop")
            await expect(page.locator("body[data-fresh]")).to_be_visible()
        await expect(page.get_by_text("The connection is lost")).to_be_visible()


async def test_fields_that_depend_on_a_box_are_shown_with_it(cli: CommandLine, host: Api, namespace: str) -> None:
    parameters = {"LOGIN": {"type": "BOOL", "name": "With a login"}, "NAME": {"type": "STR", "name": "Who", "if": ["LOGIN"]}}
    commands = {"Start": {"name": "Start", "parameters": parameters, "nested_kubernetes": test_ui.NESTED}}
    name = f"login-{namespace}"
    body = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedApp", "metadata": {"name": name}}
    await host.create(kinds.NESTED_APP, body | {"spec": {"appDef": {"name": "Login", "commands": commands}}})
    async with looking(cli) as page:
        await page.goto(f"{base(page)}/apps/{name}")
        who = page.get_by_label("Who")
        await expect(who).to_be_hidden()
        await page.get_by_label("With a login").check()
        await who.fill("me")
        await page.get_by_label("With a login").uncheck()
        await expect(who).to_be_hidden()
        await page.get_by_role("button", name="Run Login").click()
        await expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    await host.delete(kinds.NESTED_APP, name)
    (job,) = await host.list(kinds.NESTED_APP_JOB, namespace)
    assert "parameters" not in job["spec"]


async def test_everything_can_be_done_without_scripts(cli: CommandLine, host: Api, app: str, namespace: str) -> None:
    async with looking(cli, with_scripts=False) as page:
        await page.goto(f"{base(page)}/apps/{app}")
        await page.get_by_label("TITLE").fill("Plain")
        await page.get_by_label("Name of the job").fill("plain")
        await page.get_by_role("button", name="Run").click()
        await page.get_by_role("button", name="Suspend").click()
        await expect(page.get_by_role("status").filter(has_text="is being suspended")).to_be_visible()
        await page.get_by_role("link", name="Delete…").click()
        await page.get_by_role("button", name="Delete it").click()
        await expect(page.get_by_text("There are no jobs here")).to_be_visible()
    assert not await host.list(kinds.NESTED_APP_JOB, namespace)
