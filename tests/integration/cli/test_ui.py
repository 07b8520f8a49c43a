"""`nestor ui` through its real HTTP server, against a real API server: who may use it, and with whose rights."""

import asyncio
import contextlib
import html
import json
import os
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from nestor.api import labels
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.cli.conftest import JOBS, SECRETS, CommandLine, Kubelet, Object, create, give_cluster, grant, report
from tests.unit.clients.cli.builders import ADMITTED, APPLIED, CLUSTER, EXPOSED, READY, RUNNING, condition, step
from tests.unit.clients.ui.test_frame import read_events
from tests.waiting import wait_for

URL = "http://shop-team-a.apps.test/"
NESTED: Object = {"templates": [{"name": "web", "type": "kubectl", "path": "web.yml"}]}
PARAMETERS: Object = {
    "SIZE": {"type": "INT", "name": "Workers", "min": 1, "max": 8, "value": 2},
    "TITLE": {"type": "STR", "required": True},
    "DB_PASSWORD": {"type": "STR"},
}


@dataclass
class Page:
    """A browser that has opened the link, as far as HTTP goes."""

    link: str
    session: aiohttp.ClientSession

    @property
    def base(self) -> str:
        """Without a path."""
        return self.link.partition("/start")[0]

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and text."""
        async with self.session.get(self.base + path, headers=named(headers), allow_redirects=False) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, data: Object | None = None, **headers: str) -> tuple[int, str]:
        """Status, and where it leads or what it says."""
        sent = {"Origin": self.base} | named(headers)
        async with self.session.post(self.base + path, data=data or {}, headers=sent, allow_redirects=False) as answer:
            return answer.status, answer.headers.get("Location") or await answer.text()

    @contextlib.asynccontextmanager
    async def events(self, path: str) -> AsyncIterator[AsyncIterator[tuple[str, Object]]]:
        """What a live page is told."""
        async with self.session.get(self.base + path, timeout=aiohttp.ClientTimeout(total=60)) as answer:
            assert answer.status == 200, await answer.text()
            assert answer.content_type == "text/event-stream"
            yield read_events(answer.content)


def named(headers: dict[str, str]) -> dict[str, str]:
    """As browsers send them."""
    return {"Accept": "text/html"} | {key.replace("_", "-"): value for key, value in headers.items()}


async def put_event(host: Api, about: Object, namespace: str, reason: str, message: str = "", **more: Any) -> None:
    ref = {"kind": about["kind"], "namespace": namespace, **{key: about["metadata"][key] for key in ("name", "uid")}}
    body = {"metadata": {"generateName": "e-", "namespace": namespace}, "involvedObject": ref, "type": "Warning", **more}
    await host.create(kinds.EVENT, body | {"reason": reason, "message": message})


async def wait_for_part(events: AsyncIterator[tuple[str, Object]], name: str, text: str) -> str:
    """The next state of a live part that holds a text."""
    last_seen = []
    async for kind, content in events:
        last_seen.append((kind, content))
        if kind == "part" and content["id"] == name and text in content["html"]:
            return str(content["html"])
    raise AssertionError(f"no {text!r} in {last_seen}")


@contextlib.asynccontextmanager
async def opened(cli: CommandLine, *, signs_in: bool = True) -> AsyncIterator[Page]:
    """`nestor ui`, and a browser at its link."""
    call = await cli.start("ui", "--no-browser")
    assert call.process.stdout is not None
    link = (await call.process.stdout.readline()).decode().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/start\?token=[\w-]{43}", link), call.stderr
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        page = Page(link, session)
        if signs_in:
            async with session.get(link) as answer:
                assert answer.status == 200
        yield page
    call.interrupt()
    await call.wait()
    assert "Traceback" not in call.stderr


@pytest.fixture
async def page(cli: CommandLine) -> AsyncIterator[Page]:
    """The admin's."""
    async with opened(cli) as found:
        yield found


@pytest.fixture
async def app(host: Api) -> AsyncIterator[str]:
    """An application of the catalog."""
    name = f"shop-{uuid.uuid4().hex[:6]}"
    commands = {"Start": {"name": "Start it", "parameters": PARAMETERS, "nested_kubernetes": NESTED}}
    definition = {"name": "<b>Web</b> shop", "description": "It sells <script>alert(1)</script>.", "commands": commands}
    meta = {"name": name}
    await host.create(
        kinds.NESTED_APP,
        {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedApp", "metadata": meta, "spec": {"appDef": definition}},
    )
    yield name
    await host.delete(kinds.NESTED_APP, name)


def limited(cli: CommandLine, plane: apiserver.ControlPlane, user: str) -> CommandLine:
    """The same command line for a user with few rights."""
    return replace(cli, kubeconfig=plane.kubeconfig_of(user))


async def test_only_who_has_the_link_comes_in_and_it_works_once(cli: CommandLine) -> None:
    async with opened(cli, signs_in=False) as page:
        for path in ("/", "/jobs", "/live", "/apps/x", "/jobs/a/b/logs/steps/lines", "/no-such-page"):
            status, text = await page.get(path)
            assert (status, "opens only by the link" in text) == (401, True), path
        assert (await page.post("/jobs/a/b/delete"))[0] == 401
        assert (await page.get("/start?token=wrong"))[0] == 403
        async with page.session.get(page.link) as answer:
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert "token" not in str(answer.url.with_query("")), "the link's token is not on the page that comes next"
        assert (await page.get("/"))[0] == 200
        assert (await page.get("/start?" + urlsplit(page.link).query))[0] == 403
        async with aiohttp.ClientSession() as other, other.get(page.base + "/", headers={"Cookie": "nestor-ui=x"}) as answer:
            assert answer.status == 401


async def test_other_names_for_this_machine_are_refused(page: Page) -> None:
    port = urlsplit(page.base).port
    for host in (f"evil.test:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.test", f"127.0.0.2:{port}", f"[::1]:{port}"):
        assert (await page.get("/", Host=host))[0] == 421, host
    assert (await page.get("/", Host=f"localhost:{port}"))[0] == 200


async def test_other_sites_are_refused(page: Page, host: Api, namespace: str) -> None:
    """Which ones, tests/unit/clients/ui/test_guard.py lists."""
    await create(host, namespace)
    path = f"/jobs/{namespace}/shop/suspend"
    for headers in ({"Origin": "http://evil.test"}, {"Sec_Fetch_Site": "cross-site"}):
        assert (await page.post(path, None, **headers))[0] == 403, headers
        assert (await page.get("/jobs", **headers))[0] == 403, headers
    async with page.session.post(page.base + path) as answer:
        assert answer.status == 403, "nobody says where it comes from"
    job = await host.get(kinds.NESTED_APP_JOB, "shop", namespace)
    assert not job["spec"].get("suspend")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be other users")
async def test_other_users_of_the_machine_are_refused_even_with_the_cookie(page: Page) -> None:
    (cookie,) = [f"{item.key}={item.value}" for item in page.session.cookie_jar]
    port = urlsplit(page.base).port
    head = f"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nCookie: {cookie}\\r\\n\\r\\n"
    script = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{head}' >&3; read -r line <&3; echo \"$line\""
    for user, said in ((65534, "HTTP/1.1 403 Forbidden"), (0, "HTTP/1.1 200 OK")):
        process = await asyncio.create_subprocess_exec("bash", "-c", script, user=user, cwd="/", stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        assert output.decode().strip() == said


async def test_every_answer_keeps_others_out(page: Page) -> None:
    for path in ("/", "/no-such-page", "/static/page.js", "/start?token=x"):
        async with page.session.get(page.base + path, headers={"Origin": page.base}) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert answer.headers["Cache-Control"] == "no-store"
            assert not [name for name in answer.headers if name.startswith("Access-Control")]
    async with page.session.options(page.base + "/", headers={"Origin": "http://evil.test"}) as answer:
        assert answer.status == 403


async def test_the_catalog_shows_what_authors_wrote_as_text(page: Page, app: str) -> None:
    _, text = await page.get("/")
    assert f'href="/apps/{app}"' in text
    assert "&lt;b&gt;Web&lt;/b&gt; shop" in text
    assert "<script>alert" not in text
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", text), "nothing inline"


async def test_a_job_is_made_from_the_form(page: Page, host: Api, app: str, namespace: str) -> None:
    status, text = await page.get(f"/apps/{app}")
    assert status == 200
    assert 'type="password"' in text
    posted = {"command": "Start", "name": "mine", "namespace": namespace, "limit": "2", "limit_unit": "hours"}
    posted |= {"p.SIZE": "5", "p.TITLE": "My shop", "p.DB_PASSWORD": "hunter2"}
    assert await page.post(f"/apps/{app}", posted) == (303, f"/jobs/{namespace}/mine")
    job = await host.get(kinds.NESTED_APP_JOB, "mine", namespace)
    assert job["spec"]["appRef"] == {"name": app}
    assert job["spec"]["parameters"] == {"SIZE": 5, "TITLE": "My shop"}
    assert job["spec"]["activeDeadlineSeconds"] == 7200
    assert job["metadata"]["annotations"][labels.CREATED_BY] == "admin"
    assert "hunter2" not in json.dumps(job)
    secret = await host.get(kinds.SECRET, "mine-parameters", namespace)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    _, text = await page.get(f"/jobs/{namespace}/mine")
    assert "My shop" in text
    assert "hunter2" not in text
    assert "<dd>admin</dd>" in text


async def test_a_job_is_run_again_with_changes_as_another_one(page: Page, host: Api, app: str, namespace: str) -> None:
    old = await host.create(
        kinds.NESTED_APP_JOB,
        {
            "apiVersion": "nestor.dev/v1alpha1",
            "kind": "NestedAppJob",
            "metadata": {"name": "old", "namespace": namespace},
            "spec": {
                "appRef": {"name": app},
                "parameters": {"TITLE": '"><script>', "SIZE": 5, "DB_PASSWORD": "hunter2"},
                "parametersFrom": {"secretRef": {"name": "mine"}},
                "failurePolicy": {"action": "Restart"},
            },
        },
    )
    link = f"/apps/{app}?from={namespace}%2Fold"
    assert f'href="{link}"' in (await page.get(f"/jobs/{namespace}/old"))[1]
    status, text = await page.get(link)
    assert status == 200
    assert 'value="5"' in text
    assert 'value="&#34;&gt;&lt;script&gt;"' in text
    assert "parameter &#39;DB_PASSWORD&#39;, the parameters in Secret &#39;mine&#39;" in text
    assert "hunter2" not in text
    kept = html.unescape(re.findall(r'name="kept" value="(.*?)"', text)[0])
    assert json.loads(kept) == {"failurePolicy": old["spec"]["failurePolicy"]}
    posted = {"command": "Start", "name": "new", "namespace": namespace, "p.TITLE": "x", "p.SIZE": "5", "kept": kept}
    assert (await page.post(f"/apps/{app}", posted | {"kept": "[[["}))[0] == 400
    assert await page.post(f"/apps/{app}", posted) == (303, f"/jobs/{namespace}/new")
    new = await host.get(kinds.NESTED_APP_JOB, "new", namespace)
    assert new["spec"]["parameters"] == {"TITLE": "x", "SIZE": 5}
    assert new["spec"]["failurePolicy"] == old["spec"]["failurePolicy"]
    assert (await host.get(kinds.NESTED_APP_JOB, "old", namespace))["spec"] == old["spec"]
    for other in ("a/b", "..%2F..%2Fx", f"{namespace}%2Fno-such"):
        assert (await page.get(f"/apps/{app}?from={other}"))[0] == 404, other


async def test_bad_input_is_told_at_its_field_and_makes_nothing(page: Page, host: Api, app: str, namespace: str) -> None:
    posted = {"name": "Not A Name", "namespace": namespace, "limit": "soon", "p.SIZE": "99", "p.DB_PASSWORD": "hunter2"}
    status, text = await page.post(f"/apps/{app}", posted)
    assert status == 422
    assert "Please correct 4 fields" in text
    for said in ("must be lower-case letters", "must be a number greater than 0", "from 1 to 8", "must be set"):
        assert said in text
    assert 'value="99"' in text
    assert "hunter2" not in text, "a password is not sent back"
    assert not await host.list(kinds.NESTED_APP_JOB, namespace)
    assert not await host.list(kinds.SECRET, namespace)


async def test_a_user_sees_and_does_what_their_rights_allow(
    cli: CommandLine, control_plane: apiserver.ControlPlane, host: Api, app: str, namespace: str
) -> None:
    await create(host, namespace)
    user = f"jane-{uuid.uuid4().hex[:6]}"
    await grant(
        host, user, namespace, {"apiGroups": ["nestor.dev"], "resources": ["nestedappjobs"], "verbs": ["get", "list", "watch"]}
    )
    async with opened(limited(cli, control_plane, user)) as page:
        status, text = await page.get("/jobs?namespace=*")
        assert status == 403
        assert f"You are &#39;{user}&#39;, who may not list jobs." in text
        assert '<input id="namespace"' in text, "another one can be chosen"
        assert "There are no jobs here" not in text
        status, text = await page.get("/")
        assert status == 403
        assert "may not list the catalog&#39;s applications" in text
        assert (await page.get("/jobs?namespace=default"))[0] == 403
        status, text = await page.get(f"/jobs?namespace={namespace}")
        assert status == 200
        assert f'href="/jobs/{namespace}/shop"' in text
        for action in ("suspend", "rerun"):
            status, text = await page.post(f"/jobs/{namespace}/shop/{action}")
            assert status == 403
            assert f"may not patch jobs in namespace &#39;{namespace}&#39;" in text
        job = await host.get(kinds.NESTED_APP_JOB, "shop", namespace)
        status, text = await page.post(f"/jobs/{namespace}/shop/delete", {"uid": job["metadata"]["uid"]})
        assert status == 403
        assert "may not delete jobs" in text
    assert not job["spec"].get("suspend")


async def test_who_may_not_see_the_pods_is_told_so_and_sees_their_number(
    cli: CommandLine, control_plane: apiserver.ControlPlane, host: Api, namespace: str
) -> None:
    job = await create(host, namespace)
    home = f"own-{namespace}"
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": home}})
    await report(
        host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, namespace=home, pods={"running": 3, "waiting": 0}, url=URL
    )
    user = f"jane-{uuid.uuid4().hex[:6]}"
    await grant(host, user, namespace, JOBS, SECRETS)
    async with opened(limited(cli, control_plane, user)) as page:
        status, text = await page.get(f"/jobs/{namespace}/shop")
        assert status == 200
        assert f"who may not list pods in namespace &#39;{home}&#39;" in text
        assert "<dd>3 running</dd>" in text
        assert f'href="{URL}"' in text
        assert f"who may not list events in namespace &#39;{namespace}&#39;" in text
        status, text = await page.get(f"/jobs/{namespace}/shop/logs/steps/lines", Accept="text/plain")
        assert status == 403
        assert "may not get the output of pods" in text
        failed = step("web", "Failed", message="error: no such host")
        await report(host, job, ADMITTED, CLUSTER, namespace=home, steps=[step("database"), failed])
        status, text = await page.get(f"/jobs/{namespace}/shop/logs/steps/lines", Accept="text/plain")
        assert status == 200
        assert text.startswith("[web] error: no such host\n\nThis is all that the job itself keeps.")
        assert "may not get the output of pods" in text
        assert (await page.get(f"/jobs/{namespace}/shop/logs/steps/lines?step=database"))[0] == 403


async def test_a_kubeconfig_is_downloaded_by_who_may_read_its_secret(
    cli: CommandLine, control_plane: apiserver.ControlPlane, host: Api, namespace: str
) -> None:
    job = await create(host, namespace)
    path = f"/jobs/{namespace}/shop"
    user, other = (f"{name}-{uuid.uuid4().hex[:6]}" for name in ("jane", "john"))
    await grant(host, user, namespace, JOBS, SECRETS)
    await grant(host, other, namespace, JOBS)
    async with opened(limited(cli, control_plane, user)) as page:
        status, text = await page.get(f"{path}/kubeconfig")
        assert (status, "has no cluster yet" in text) == (409, True)
        await give_cluster(host, control_plane, job)
        _, text = await page.get(path)
        assert f'href="{path}/kubeconfig"' in text
        async with page.session.get(f"{page.base}{path}/kubeconfig") as answer:
            assert answer.headers["Content-Disposition"] == f'attachment; filename="nestor-{namespace}-shop.kubeconfig"'
            content = json.loads(await answer.text())
        assert content["current-context"] == f"nestor-{namespace}-shop"
        assert "client-key-data" in content["users"][0]["user"]
        assert (await page.get(f"{path}/kubeconfig", Sec_Fetch_Site="cross-site"))[0] == 403
    async with opened(limited(cli, control_plane, other)) as page:
        assert f"nestor kubeconfig shop -n {namespace}" in (await page.get(path))[1]
        status, text = await page.get(f"{path}/kubeconfig")
        assert (status, "who may not get Secrets" in text) == (403, True)


async def test_a_page_is_told_what_happens_and_when_it_ends(page: Page, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    async with page.events(f"/jobs/{namespace}/shop/live") as events:
        await wait_for_part(events, "live_stages", "Nestor has not looked")
        waits = condition("StepsApplied", "False", "StepRunning", "step 1 of 1 'web' is running")
        home = f"own-{namespace}"
        await host.apply(kinds.NAMESPACE, {"metadata": {"name": home}})
        await report(host, job, ADMITTED, CLUSTER, waits, RUNNING, steps=[step("web", "Running")], namespace=home)
        assert "running" in await wait_for_part(events, "live_steps", ">web ")
        await wait_for(host, kinds.SERVICE_ACCOUNT, "default", home, bool)
        meta = {"name": "web-x", "namespace": home, "labels": {labels.CLUSTER: "shop", labels.COMPONENT: "app"}}
        spec = {"containers": [{"name": "main", "image": "x"}]}
        await host.create(kinds.POD, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        assert "Waiting for a node" in await wait_for_part(events, "live_pods", "web-x")
        await put_event(host, job, namespace, "Accepted", "<script>alert(1)</script>")
        await put_event(host, {"kind": "Pod", "metadata": {"name": "web-x", "uid": "u"}}, home, "Pulled", count=3)
        await put_event(host, {"kind": "Pod", "metadata": {"name": "other", "uid": "o"}}, namespace, "Foreign")
        told = await wait_for_part(events, "live_events", "&lt;script&gt;alert(1)&lt;/script&gt;")
        told = told if "pod/web-x" in told else await wait_for_part(events, "live_events", "pod/web-x")
        assert ", 3 times" in told
        assert "<script>" not in told
        assert "Foreign" not in told
        await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, url=URL, namespace=home, steps=[step("web")])
        assert f'href="{URL}"' in await wait_for_part(events, "live_head", "Ready")
        await host.delete(kinds.NESTED_APP_JOB, "shop", namespace)
        async for kind, _ in events:
            if kind == "gone":
                return
    raise AssertionError("nobody said that the job is gone")


async def test_a_job_is_suspended_resumed_run_again_extended_and_deleted(page: Page, host: Api, namespace: str) -> None:
    job = await create(host, namespace, activeDeadlineSeconds=3600)
    path = f"/jobs/{namespace}/shop"

    async def read() -> Object:
        return await host.get(kinds.NESTED_APP_JOB, "shop", namespace)

    assert await page.post(f"{path}/suspend") == (303, f"{path}?said=suspended")
    assert (await read())["spec"]["suspend"] is True
    assert "is being suspended" in (await page.get(f"{path}?said=suspended"))[1]
    assert await page.post(f"{path}/resume") == (303, f"{path}?said=resumed")
    assert (await read())["spec"].get("suspend") is False
    assert await page.post(f"{path}/rerun") == (303, f"{path}?said=rerun")
    assert (await read())["metadata"]["annotations"][labels.RERUN]
    assert await page.post(f"{path}/extend", {"field": "activeDeadlineSeconds", "by": "2", "unit": "hours"}) == (
        303,
        f"{path}?said=extended",
    )
    assert (await read())["spec"]["activeDeadlineSeconds"] == 3600 + 7200
    for wrong in (
        {"field": "activeDeadlineSeconds", "by": "x", "unit": "hours"},
        {"field": "keep", "by": "1", "unit": "hours"},
        {},
    ):
        assert (await page.post(f"{path}/extend", wrong))[0] == 400
    # Nobody is deleted without being asked about, and not instead of another one of the same name.
    assert await page.post(f"{path}/delete") == (303, f"{path}/delete")
    assert await page.post(f"{path}/delete", {"uid": "other"}) == (303, f"{path}/delete")
    status, text = await page.get(f"{path}/delete")
    assert status == 200
    assert f'value="{job["metadata"]["uid"]}"' in text
    assert await page.post(f"{path}/delete", {"uid": job["metadata"]["uid"]}) == (303, f"/jobs?namespace={namespace}")
    assert await host.find(kinds.NESTED_APP_JOB, "shop", namespace) is None
    status, text = await page.get(path)
    assert status == 404
    assert "There is no &#39;shop&#39; here" in text


async def test_a_job_that_has_ended_is_run_again_only_by_who_knows_that_its_data_goes(
    page: Page, host: Api, namespace: str
) -> None:
    job = await create(host, namespace)
    end = condition("Succeeded", "True", "Completed", "done")
    await report(host, job, ADMITTED, end, completionTime="2026-01-01T00:00:00Z")
    path = f"/jobs/{namespace}/shop"
    assert await page.post(f"{path}/rerun") == (303, f"{path}/rerun")
    assert "the data of the previous run is deleted" in (await page.get(f"{path}/rerun"))[1]
    assert await page.post(f"{path}/rerun", {"agreed": "yes"}) == (303, f"{path}?said=rerun")
    assert (await page.post(f"{path}/suspend"))[0] == 409


async def test_the_output_of_steps_and_pods_is_read(page: Page, host: Api, namespace: str, kubelet: Kubelet) -> None:
    job = await create(host, namespace)
    home = f"own-{namespace}"
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": home}})
    await report(host, job, ADMITTED, CLUSTER, namespace=home, steps=[step("database"), step("web")])
    await kubelet.run("shop-run", home, "[database] one\n[web] two\n")
    await kubelet.run("web-1-x", home, "hello\n", labels={labels.CLUSTER: "shop"}, nested_name="web-1")
    await kubelet.run("foreign", home, "not yours\n", labels={labels.CLUSTER: "other"})
    path = f"/jobs/{namespace}/shop/logs"
    assert await page.get(f"{path}/steps/lines") == (200, "[database] one\n[web] two\n")
    assert await page.get(f"{path}/steps/lines?step=web") == (200, "[web] two\n")
    assert await page.get(f"{path}/web-1-x/lines?container=main") == (200, "hello\n")
    assert (await page.get(f"{path}/foreign/lines"))[0] == 404
    assert (await page.get(f"{path}/..%2Fx/lines"))[0] == 404
    status, text = await page.get(f"{path}/web-1-x")
    assert status == 200
    assert f'data-source="{path}/web-1-x/lines?"' in text


async def test_a_busy_port_is_told(cli: CommandLine, page: Page) -> None:
    call = await cli("ui", "--no-browser", "--port", str(urlsplit(page.base).port))
    assert call.code == 2
    assert "cannot be used" in call.stderr


async def test_whatever_is_asked_for_is_answered(page: Page) -> None:
    paths: list[tuple[str, Any]] = [
        ("/jobs?namespace=..%2F..", 400),
        ("/jobs/%2e%2e/x", 404),
        ("/jobs/a%2Fb/x", 404),
        ("/apps/%2e%2e%2fx", 404),
        ("/apps/no-such", 404),
        ("/apps/no-such/icon", 404),
        ("/static/../guard.py", 404),
        ("/static/%2e%2e/guard.py", 404),
    ]
    for path, status in paths:
        assert (await page.get(path))[0] == status, path
    _, text = await page.get("/jobs?namespace=*&text=%22%3E%3Cscript%3E&state=%22%3E%3Cscript%3E&sort=%22%3E%3Cscript%3E")
    assert "&#34;&gt;&lt;script&gt;" in text
    assert "<script>" not in text
