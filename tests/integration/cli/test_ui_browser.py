"""`nestor ui` in a real browser: everybody can use it, with a keyboard, a screen reader, in the dark, without scripts."""

import base64
import contextlib
import datetime
import json
from collections.abc import AsyncIterator
from typing import Literal

import pytest
from playwright.async_api import Page, expect

from nestor.api import labels
from nestor.kube import Api, kinds
from tests.browser import SIZE, browsing, find_barriers, take
from tests.integration.cli import test_ui
from tests.integration.cli.conftest import ROOT, CommandLine, Kubelet, Object, create, report
from tests.integration.cli.test_ui import opened
from tests.unit.clients.cli import builders
from tests.unit.clients.cli.builders import ADMITTED, APPLIED, CLUSTER, EXPOSED, READY, RUNNING, step

pytestmark = pytest.mark.slow

app = test_ui.app
CLASS: Object = {
    "placement": {"machines": [{"name": "small"}, {"name": "large", "description": "16 CPUs"}], "defaultMachine": "small"}
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


@pytest.fixture
async def default_class(host: Api) -> AsyncIterator[None]:
    """A class for as long as a test lasts: other files want a cluster without any."""
    await host.apply(kinds.NESTED_CLASS, {"metadata": {"name": "default"}, "spec": CLASS})
    yield
    await host.delete(kinds.NESTED_CLASS, "default")


@pytest.mark.usefixtures("default_class")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_keeps_anybody_from_using_a_page(
    cli: CommandLine, host: Api, app: str, namespace: str, scheme: Literal["light", "dark"]
) -> None:
    # In the dark, a page of each kind: only the colors differ.
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
        await expect(page.get_by_text("Nestor has not looked at this job yet.")).to_be_visible()
    (job,) = await host.list(kinds.NESTED_APP_JOB, namespace)
    assert job["spec"]["parameters"] == {"TITLE": "By hand"}


CATALOG = {
    "notebook": ("Notebook", "Python in the browser, with the cluster's GPUs and a folder that is kept."),
    "training": ("Training", "Trains a model on several nodes at once, and starts again where it stopped."),
    "render": ("Render farm", "Renders the frames of a film, each on the node that is free."),
    "four-types": ("Web shop", ""),
}


@pytest.fixture
async def catalog(host: Api) -> AsyncIterator[str]:
    """Some applications, the last of which is an example of ours."""
    definition = json.loads((ROOT / "examples/07-four-types/AppDef.json").read_text())
    icon = {
        "type": "image/svg+xml",
        "data": base64.b64encode((ROOT / "src/nestor/clients/ui/static/icon.svg").read_bytes()).decode(),
    }
    for name, (title, about) in CATALOG.items():
        more = {"description": about} if about else {"image": icon}
        spec = {"image": "registry.test/app:1", "appDef": definition | {"name": title} | more}
        meta = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedApp", "metadata": {"name": name}}
        await host.create(kinds.NESTED_APP, meta | {"spec": spec})
    yield name
    for name in CATALOG:
        await host.delete(kinds.NESTED_APP, name)


async def put_pods(host: Api, kubelet: Kubelet, home: str) -> None:
    """Those of the job: some here, one at a backend, one that finds no room."""
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": home}})
    await host.apply(kinds.NODE, {"metadata": {"name": "hpc-gpu", "labels": {labels.BACKEND: "hpc"}}})
    own = {labels.CLUSTER: "shop", labels.COMPONENT: labels.COMPONENT_APP}
    await kubelet.run("shop-run", home, "[database] deployment.apps/database created\n[seed] OK\n[web-servers] deployed\n")
    for name in ("database-5d9f", "web-7c4b"):
        said = "Ready to accept connections\n"
        await kubelet.run(f"{name}-x-default", home, said, labels=own, nested_name=name, nested_namespace="default")
        is_ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await host.patch(kinds.POD, f"{name}-x-default", home, is_ready, subresource="status")
    for name, spec in (("train-0", {"nodeName": "hpc-gpu"}), ("train-1", {})):
        notes = {labels.NESTED_NAME: name, labels.NESTED_NAMESPACE: "default"}
        body = {"metadata": {"name": f"{name}-x-default", "namespace": home, "labels": own, "annotations": notes}}
        await host.create(kinds.POD, body | {"spec": {"containers": [{"name": "main", "image": "x"}]} | spec})
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes have a GPU that is free",
    }
    patch = {"status": {"phase": "Pending", "conditions": [unscheduled]}}
    await host.patch(kinds.POD, "train-1-x-default", home, patch, subresource="status")


@pytest.mark.usefixtures("default_class")
async def test_all_that_a_user_does_with_a_job(
    cli: CommandLine, host: Api, catalog: str, kubelet: Kubelet, namespace: str
) -> None:
    async with looking(cli) as page:
        card = page.locator(f'a[href="/apps/{catalog}"]')
        await expect(card).to_be_visible()
        await take(page, "catalog")
        await card.click()
        await page.get_by_label("Greeting").fill("Hello from the browser")
        await page.get_by_label("Web servers").fill("2")
        await page.get_by_label("Machine").select_option("large: 16 CPUs")
        await page.get_by_label("End it after").fill("8")
        await page.get_by_label("Name of the job").fill("shop")
        await take(page, "form")
        await page.get_by_role("button", name="Run Web shop").click()
        await page.wait_for_url("**/shop")
        job = await host.get(kinds.NESTED_APP_JOB, "shop", namespace)
        assert job["spec"]["parameters"] == {"GREETING": "Hello from the browser", "REPLICAS": 2}
        assert (job["spec"]["machine"], job["spec"]["activeDeadlineSeconds"]) == ("large", 8 * 3600)
        home = f"own-{namespace}"
        await put_pods(host, kubelet, home)
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        times = {"startTime": now, "completionTime": now}
        steps = [
            step(name, kind=kind, **times)
            for name, kind in (("database", "kubectl"), ("seed", "custom"), ("web-servers", "helm"))
        ]
        stages = [found | {"lastTransitionTime": now} for found in (ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING)]
        more = {"namespace": home, "kubernetesVersion": "v1.36.3+k3s1", "command": "Start", "startTime": now}
        await report(host, job, *stages, steps=steps, url=test_ui.URL, **more)
        await test_ui.put_event(host, job, namespace, "StepSucceeded", "step 'seed' succeeded", type="Normal", lastTimestamp=now)
        await expect(page.locator("#live_events")).to_contain_text("step 'seed' succeeded")
        for place, pod in (("In this cluster", "database-"), ("At backend 'hpc'", "train-0"), ("Waiting for a node", "train-1")):
            await expect(page.get_by_role("heading", name=place)).to_be_visible()
            await expect(page.locator("#live_pods")).to_contain_text(pod)
        await expect(page.get_by_text("0/3 nodes have a GPU that is free")).to_be_visible()
        assert await find_barriers(page) == []
        await take(page, "job")
        await read_output(page)
        await page.get_by_role("button", name="Add").click()
        await expect(page.get_by_text("The job has more time now.")).to_be_visible()
        job = await host.get(kinds.NESTED_APP_JOB, "shop", namespace)
        assert job["spec"]["activeDeadlineSeconds"] == 9 * 3600
        await page.get_by_role("link", name="Delete…").click()
        await page.get_by_role("button", name="Delete it").click()
        await expect(page.get_by_text("There are no jobs here")).to_be_visible()
    assert await host.find(kinds.NESTED_APP_JOB, "shop", namespace) is None
    await host.delete(kinds.NODE, "hpc-gpu")


async def read_output(page: Page) -> None:
    """Of all steps, of one, and of a pod; and back."""
    await page.get_by_role("link", name="Output of all steps").click()
    await expect(page.get_by_role("log")).to_contain_text("[seed] OK")
    await page.get_by_label("Step").select_option("database")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("log")).to_contain_text("[database] deployment.apps/database created")
    await expect(page.get_by_role("log")).not_to_contain_text("[seed]")
    await page.get_by_role("link", name="shop").click()
    await page.get_by_role("link", name="Output of pod database-").click()
    await expect(page.get_by_role("log")).to_contain_text("Ready to accept connections")
    await page.go_back()


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


async def test_a_list_is_limited_as_people_type_and_stays_so(cli: CommandLine, host: Api, job: Object, namespace: str) -> None:
    await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, namespace=job["status"]["namespace"])
    await create(host, namespace, "other")
    async with looking(cli) as page:
        await page.goto(f"{base(page)}/jobs?namespace={namespace}")
        rows = page.locator("tbody th")
        await expect(rows).to_have_count(2)
        await page.get_by_label("Search").press_sequentially("ready")
        await expect(rows).to_have_text(["shop"])
        await expect(page.locator("#announce")).to_contain_text("1 found")
        await create(host, namespace, "third")
        await expect(page.get_by_text("1 of 3 jobs")).to_be_visible()
        await page.reload()
        await expect(page.get_by_label("Search")).to_have_value("ready")
        await page.get_by_label("Search").fill("")
        await expect(rows).to_have_count(3)
        await page.get_by_role("link", name="Job", exact=True).press("Enter")
        await expect(rows).to_have_text(["other", "shop", "third"])
        await expect(page.locator("body[data-fresh]")).to_be_visible()
        await page.get_by_label("State").select_option("Suspended or new")
        await expect(rows).to_have_text(["other", "third"])
        await page.reload()
        await expect(rows).to_have_text(["other", "third"])
        await expect(page.get_by_role("columnheader", name="Job")).to_have_attribute("aria-sort", "ascending")


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
