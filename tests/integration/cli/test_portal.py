"""The pages in the cluster, as an authenticating proxy sees them: in the name of its users, and of nobody else."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
import pytest

from nestor.api import labels
from nestor.kube import Api, Forbidden, kinds
from tests.integration import apiserver, chart
from tests.integration.cli import stolen_portal, test_ui
from tests.integration.cli.conftest import JOBS, SECRETS, CommandLine, Object, await_right, create, give_cluster, grant
from tests.integration.operator.stolen import TOKEN_SECRET
from tests.integration.operator.test_stolen_token import body_of, ensure, send
from tests.waiting import eventually

app = test_ui.app
HOST = "nestor.example.com"


@dataclass
class Portal:
    """The portal, and a proxy in front of it that has authenticated a user."""

    port: int
    session: aiohttp.ClientSession
    user: str
    groups: list[str] = field(default_factory=list)
    kubeconfig: Path = Path()
    """The portal's own."""
    is_constrained: bool = True

    async def ask(
        self, method: str, path: str, data: Mapping[str, str] | None = None, *more: tuple[str, str], **headers: str | None
    ) -> tuple[int, str]:
        """Status and text, or where the answer leads."""
        usual: dict[str, str | None] = {
            "Host": HOST,
            "Accept": "text/html",
            "X-Forwarded-User": self.user,
            "X-Forwarded-Groups": ",".join(self.groups),
            "Origin": f"https://{HOST}" if method == "POST" else None,
        }
        usual |= {key.replace("_", "-"): value for key, value in headers.items()}
        sent = [(key, value) for key, value in usual.items() if value is not None] + list(more)
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self.session.request(method, url, headers=sent, data=data, allow_redirects=False) as answer:
            return answer.status, answer.headers.get("Location") or await answer.text()


@pytest.fixture(params=[True, False], ids=["constrained", "classic"])
async def portal(
    request: pytest.FixtureRequest, cli: CommandLine, control_plane: apiserver.ControlPlane, host: Api
) -> AsyncIterator[Portal]:
    """The process, with the role that the chart gives it."""
    ending = uuid.uuid4().hex[:6]
    users, groups = [f"oidc:jane-{ending}", f"oidc:john-{ending}"], [f"oidc:team-{ending}"]
    values = {
        "enabled": True,
        "host": HOST,
        "proxy": {"image": "x"},
        "users": users,
        "groups": groups,
        "constrained": request.param,
    }
    found = {
        item["kind"]: item
        for item in await chart.render("--set-json", f"portal={json.dumps(values)}")
        if "portal" in item["metadata"]["name"]
    }
    role, binding = found["ClusterRole"], found["ClusterRoleBinding"]
    name = role["metadata"]["name"] = binding["metadata"]["name"] = binding["roleRef"]["name"] = f"portal-{ending}"
    binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]
    await host.apply(kinds.CLUSTER_ROLE, role)
    await host.apply(kinds.CLUSTER_ROLE_BINDING, binding)
    await await_right(host, role["rules"][0], user=name)
    port, health = apiserver.free_ports(2)
    options = [f"--host={HOST}", f"--port={port}", f"--health-port={health}", "--user-prefix=oidc:", "--groups-prefix=oidc:"]
    options += [f"--group={group}" for group in groups] + [f"--kubeconfig={control_plane.kubeconfig_of(name)}"]
    process = await asyncio.create_subprocess_exec(*cli.command, "portal", *options, env={"PATH": "/usr/bin"})
    async with aiohttp.ClientSession() as session:
        await eventually(lambda: is_ready(session, health))
        yield Portal(
            port,
            session,
            users[0].removeprefix("oidc:"),
            kubeconfig=control_plane.kubeconfig_of(name),
            is_constrained=request.param,
        )
    process.terminate()
    assert await process.wait() == 0
    await host.delete(kinds.CLUSTER_ROLE_BINDING, name)
    await host.delete(kinds.CLUSTER_ROLE, name)


async def is_ready(session: aiohttp.ClientSession, port: int) -> bool:
    with contextlib.suppress(aiohttp.ClientError):
        async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.status == 200
    return False


async def test_each_user_sees_what_is_theirs(
    portal: Portal, control_plane: apiserver.ControlPlane, host: Api, app: str, namespace: str
) -> None:
    job = await create(host, namespace)
    await give_cluster(host, control_plane, job)
    await test_ui.put_event(host, job, namespace, "Accepted")
    events = {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "watch"]}
    await grant(host, f"oidc:{portal.user}", namespace, JOBS, SECRETS, events)
    other = Portal(portal.port, portal.session, portal.user.replace("jane", "john"))
    for path in (f"/jobs?namespace={namespace}", f"/jobs/{namespace}/shop"):
        status, text = await portal.ask("GET", path)
        assert status == 200
        assert f"oidc:{portal.user}" in text
        assert ("<strong>Accepted</strong>" in text) is path.endswith("/shop")
        assert (f"Run <code>nestor kubeconfig shop -n {namespace}</code>" in text) is path.endswith("/shop")
        status, text = await other.ask("GET", path)
        assert status == 403
        assert f"You are &#39;oidc:{other.user}&#39;, who may not list jobs" in text
    assert (await portal.ask("GET", f"/jobs/{namespace}/shop/kubeconfig"))[0] == 404, "not even with permission"
    assert (await portal.ask("POST", f"/jobs/{namespace}/shop/suspend"))[0] == 303
    assert (await other.ask("POST", f"/jobs/{namespace}/shop/resume"))[0] == 403
    assert (await host.get(kinds.NESTED_APP_JOB, "shop", namespace))["spec"]["suspend"] is True


async def test_a_job_with_passwords_is_made_in_the_name_of_its_user_who_may_only_create_secrets(
    portal: Portal, host: Api, app: str, namespace: str
) -> None:
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    await grant(host, f"oidc:{portal.user}", namespace, JOBS, secrets)
    readers = f"readers-{namespace}"
    rules = [{"apiGroups": ["nestor.dev"], "resources": ["nestedapps"], "verbs": ["get"]}]
    await host.apply(kinds.CLUSTER_ROLE, {"metadata": {"name": readers}, "rules": rules})
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    subject = {**group, "kind": "User", "name": f"oidc:{portal.user}"}
    ref = {**group, "kind": "ClusterRole", "name": readers}
    await host.apply(kinds.CLUSTER_ROLE_BINDING, {"metadata": {"name": readers}, "roleRef": ref, "subjects": [subject]})
    await await_right(host, rules[0], user=f"oidc:{portal.user}")
    posted = {"name": "mine", "namespace": namespace, "p.TITLE": "x", "p.DB_PASSWORD": "hunter2"}
    assert await portal.ask("POST", f"/apps/{app}", posted) == (303, f"/jobs/{namespace}/mine")
    job = await host.get(kinds.NESTED_APP_JOB, "mine", namespace)
    assert job["metadata"]["annotations"][labels.CREATED_BY] == f"oidc:{portal.user}"
    assert not job["spec"].get("suspend")
    secret = await host.get(kinds.SECRET, "mine-parameters", namespace)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    await host.delete(kinds.CLUSTER_ROLE_BINDING, readers)
    await host.delete(kinds.CLUSTER_ROLE, readers)


async def test_groups_count_if_the_admin_has_listed_them(portal: Portal, host: Api, namespace: str) -> None:
    team = "team-" + portal.user.rpartition("-")[2]
    role = {"metadata": {"name": "team", "namespace": namespace}, "rules": [JOBS]}
    await host.apply(kinds.ROLE, role)
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    subjects: list[Object] = [{**group, "kind": "Group", "name": f"oidc:{name}"} for name in (team, "unlisted")]
    binding = {"metadata": {"name": "team", "namespace": namespace}, "roleRef": {**group, "kind": "Role", "name": "team"}}
    await host.apply(kinds.ROLE_BINDING, binding | {"subjects": subjects})
    await await_right(host, JOBS, namespace, user="anybody", groups=[f"oidc:{team}"])
    path = f"/jobs?namespace={namespace}"
    for groups, status in (([], 403), (["unlisted"], 403), (["masters"], 403), (["unlisted", team, "x"], 200)):
        portal.groups = groups
        assert (await portal.ask("GET", path))[0] == status, groups


async def test_whoever_the_admin_has_not_listed_is_nobody(portal: Portal) -> None:
    status, text = await portal.ask("GET", "/jobs?namespace=default", X_Forwarded_User="unlisted")
    assert status == 403
    assert "may not act in your name" in text


async def test_other_sites_and_other_names_are_refused(portal: Portal, host: Api, namespace: str) -> None:
    await create(host, namespace)
    await grant(host, f"oidc:{portal.user}", namespace, JOBS)
    path = f"/jobs/{namespace}/shop"
    assert (await portal.ask("GET", path, Host="evil.test"))[0] == 421
    attacks: tuple[dict[str, str | None], ...] = (
        {"Origin": "https://evil.test"},
        {"Origin": f"http://{HOST}"},
        {"Origin": None},
        {"Sec_Fetch_Site": "cross-site"},
    )
    for headers in attacks:
        assert (await portal.ask("POST", f"{path}/suspend", None, **headers))[0] == 403, headers
    assert (await portal.ask("GET", path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors"))[0] == 403
    assert (await portal.ask("GET", path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate"))[0] == 200, "a link in a mail"
    assert not (await host.get(kinds.NESTED_APP_JOB, "shop", namespace))["spec"].get("suspend")


async def test_a_stolen_token_reads_nothing_that_the_pages_do_not_show(portal: Portal, host: Api, namespace: str) -> None:
    user = f"oidc:{portal.user}"
    await grant(host, user, namespace, {"apiGroups": [""], "resources": ["secrets", "configmaps", "pods"], "verbs": ["*"]})
    async with await Api.connect(str(portal.kubeconfig)) as own, own.in_the_name_of(user, []) as thief:
        with pytest.raises(Forbidden):
            await own.list(kinds.POD, namespace)
        assert await thief.list(kinds.POD, namespace) == []
        for kind in (kinds.SECRET, kinds.CONFIG_MAP):
            if portal.is_constrained:
                with pytest.raises(Forbidden, match="impersonate-on"):
                    await thief.list(kind, namespace)
            else:
                await thief.list(kind, namespace)
        for name in ("system:admin", "system:serviceaccount:kube-system:default", "oidc:unlisted"):
            async with own.in_the_name_of(name, []) as other:
                with pytest.raises(Forbidden):
                    await other.list(kinds.POD, namespace)
        async with own.in_the_name_of(user, ["system:masters"]) as admin:
            with pytest.raises(Forbidden):
                await admin.list(kinds.POD, namespace)


@pytest.mark.parametrize("portal", [True], indirect=True, ids=["constrained"])
async def test_a_thief_of_the_portals_token_does_not_get(portal: Portal, host: Api, namespace: str) -> None:
    """The user may do all of it. The token may make a Secret, which is what the form for a new job does."""
    user = f"oidc:{portal.user}"
    await grant(host, user, namespace, {"apiGroups": [""], "resources": ["*"], "verbs": ["*"]})
    await ensure(host, kinds.SERVICE_ACCOUNT, "powerful", namespace)
    await ensure(host, kinds.SECRET, "theirs", namespace, stringData={"password": "hunter2"})
    async with await Api.connect(str(portal.kubeconfig)) as own, own.in_the_name_of(user, []) as thief:
        made = await thief.create(kinds.SECRET, body_of(kinds.SECRET, "token", namespace, TOKEN_SECRET, {}))
        assert "data" not in made, "the token comes later"
        for attack in stolen_portal.ATTACKS:
            with pytest.raises(Forbidden, match=attack.refused):
                await send(thief, replace(attack, namespace=namespace), {})
    assert await host.find(kinds.SECRET, "theirs", namespace)
