"""All targets of an app, as its users reach them: by host, by TLS, below a path, through a websocket, and when pods go."""

import base64
import datetime
import os
import socket
import ssl
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from devcluster.demo import install
from nestor.api import conditions
from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.kube import Api, kinds
from tests.e2e.conftest import Cluster, apply, apply_class, fresh_namespace, inline_job, kubectl, nested_kubeconfig
from tests.waiting import eventually, job_with, message_of

# Which server was asked for what, as JSON; `/ws` echoes.
SERVER = """
import os
from aiohttp import web

async def page(request):
    scheme = request.headers["X-Forwarded-Proto"]
    return web.json_response({"server": os.environ["NAME"], "path": request.path_qs, "scheme": scheme})

async def echo(request):
    stream = web.WebSocketResponse()
    await stream.prepare(request)
    async for message in stream:
        await stream.send_str(f"{os.environ['NAME']}: {message.data}")
    return stream

app = web.Application()
app.add_routes([web.get("/ws", echo), web.get("/ready", lambda _: web.Response()), web.get("/{path:.*}", page)])
web.run_app(app, port=8000)
"""

NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: tools}
"""
PART = """
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: server, namespace: {space}}}
data:
  server.py: |
{server}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {space}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: server
        image: {image}
        command: [/opt/nestor/bin/python, /server/server.py]
        env: [{{name: NAME, value: {name}}}]
        ports: [{{name: http, containerPort: 8000}}]
        readinessProbe: {{httpGet: {{path: /ready, port: http}}, periodSeconds: 1, timeoutSeconds: 10}}
        volumeMounts: [{{name: server, mountPath: /server}}]
      volumes: [{{name: server, configMap: {{name: server}}}}]
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {space}}}
spec:
  selector: {{app: {name}}}
  ports: [{{name: http, port: {port}, targetPort: {target_port}}}]
"""
TARGETS = [
    {"service_name": "web", "service_port": 80, "service_namespace": "default"},
    {"service_name": "api", "service_port": 9090, "service_namespace": "tools"},
]


def two_servers(name: str, namespace: str, **spec: Any) -> list[Object]:
    """A job whose app has two servers, both exposed: by a number and by a name for `targetPort`, in two namespaces."""
    server = "\n".join(f"    {line}" for line in SERVER.strip().splitlines())
    image = install.find_image(os.environ.get("CLUSTER") or "embedded")
    parts = [("web", "default", 80, "8000"), ("api", "tools", 9090, "http")]
    manifest = NAMESPACE + "".join(
        PART.format(name=part, space=space, port=port, target_port=target, server=server, image=image)
        for part, space, port, target in parts
    )
    config_map, job = inline_job(name, namespace, {"app.yaml": manifest}, targets=TARGETS)
    job["spec"] |= {"expose": {"allTargets": True}, **spec}
    return [config_map, job]


def url_of(job: Object, service: str) -> str:
    """Where the job says that a target is reached."""
    return str(next(item["url"] for item in job["status"]["targets"] if item["serviceName"] == service))


@dataclass
class Client:
    """A browser on this machine, whose names lead to the Ingress controller."""

    session: aiohttp.ClientSession

    async def ask(self, url: str, *, status: int = 200) -> Any:
        """Await an answer with this status, as an Ingress controller follows a moment late; its JSON, if it is 200."""
        last_seen: object = None

        async def look() -> list[Any]:
            nonlocal last_seen
            try:
                async with self.session.get(url) as answer:
                    last_seen = answer.status
                    return [await answer.json() if status == 200 else None] if answer.status == status else []
            except aiohttp.ClientConnectionError as error:
                last_seen = error
                return []

        return (await eventually(look))[0]

    async def echo(self, stream: aiohttp.ClientWebSocketResponse, text: str) -> str:
        """What comes back through a websocket."""
        await stream.send_str(text)
        return await stream.receive_str(timeout=10)


class Controller(AbstractResolver):
    """Resolves every name to the Ingress controller's address."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=self._address, port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        """Nothing is held."""


def browse(cluster: Cluster, trust: ssl.SSLContext | None = None) -> aiohttp.ClientSession:
    """A session whose requests have a connection each. With `trust`, it believes only whom that does."""
    connector = aiohttp.TCPConnector(resolver=Controller(cluster.address), ssl=trust or True, force_close=True)
    return aiohttp.ClientSession(connector=connector)


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client of plain HTTP."""
    async with browse(cluster) as session:
        yield Client(session)


@pytest.fixture(scope="module")
async def apart(api: Api, cluster: Cluster) -> AsyncIterator[Cluster]:
    """The cluster, as jobs of a class see it that has a domain of its own: who takes all of its hosts takes no other test's.
    The class has the name of the domain.
    """
    domain = f"pair-{uuid.uuid4().hex[:6]}.{cluster.domain}"
    await apply_class(api, domain, expose={"domain": domain})
    yield replace(cluster, domain=domain)
    await api.delete(kinds.NESTED_CLASS, domain)


@pytest.fixture(scope="module")
async def pair(api: Api, apart: Cluster, used_namespaces: list[str]) -> AsyncIterator[Object]:
    """A job whose two targets are ready, for the tests of this file."""
    async with fresh_namespace(api, used_namespaces) as namespace:
        await apply(api, two_servers("pair", namespace, className=apart.domain))
        yield await job_with(api, "pair", namespace, conditions.READY, "True")


def no_server(name: str, apart: Cluster, namespace: str, **spec: Any) -> list[Object]:
    """A job of that class with the same targets, whose Services are never there."""
    documents = inline_job(name, namespace, {"tools.yaml": NAMESPACE}, targets=TARGETS)
    documents[-1]["spec"] |= {"className": apart.domain, **spec}
    return documents


@pytest.mark.xdist_group("pair")
async def test_another_job_neither_takes_a_host_nor_ends_a_stream_when_it_comes_and_goes(
    api: Api, pair: Object, namespace: str, apart: Cluster, client: Client
) -> None:
    host = f"pair-{pair['metadata']['namespace']}.{apart.domain}"
    other = apart.url(f"other-{namespace}")
    await client.ask(url_of(pair, "api"))
    async with client.session.ws_connect(f"{url_of(pair, 'api')}ws") as stream:
        assert await client.echo(stream, "before") == "api: before"
        await apply(api, no_server("other", apart, namespace, expose={"host": host}))
        loser = await job_with(api, "other", namespace, conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)
        assert host in message_of(loser, conditions.EXPOSED)
        assert (await client.ask(url_of(pair, "web")))["server"] == "web"

        await api.patch(kinds.NESTED_APP_JOB, "other", namespace, {"spec": {"expose": None}})
        await client.ask(other, status=503)
        assert await client.echo(stream, "with it") == "api: with it"
        await api.delete(kinds.NESTED_APP_JOB, "other", namespace)
        await client.ask(other, status=404)
        assert await client.echo(stream, "without it") == "api: without it"
        assert not stream.closed


@pytest.mark.xdist_group("pair")
async def test_another_tenants_ingress_exact_or_wildcard_takes_nothing_from_a_running_job(
    api: Api, pair: Object, namespace: str, apart: Cluster, client: Client
) -> None:
    where, host = pair["status"]["namespace"], f"pair-{pair['metadata']['namespace']}.{apart.domain}"
    (own,) = [item for item in await api.list(kinds.INGRESS, where) if item["metadata"]["name"] == "pair"]
    assert (await client.ask(url_of(pair, "web")))["server"] == "web"
    before = await job_with(api, "pair", pair["metadata"]["namespace"], conditions.EXPOSED, "True")
    rules = {"exact": host, "wildcard": f"*.{apart.domain}", "fresh": f"fresh-{namespace}.{apart.domain}"}
    for name, rule in rules.items():
        backend = {"service": {"name": "evil", "port": {"number": 80}}}
        paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
        spec = {"rules": [{"host": rule, "http": {"paths": paths}}]}
        if found := own["spec"].get("ingressClassName"):
            spec["ingressClassName"] = found
        labeled = {"nestor.dev/job-uid": pair["metadata"]["uid"]}
        body = {"metadata": {"name": name, "namespace": namespace, "labels": labeled}, "spec": spec}
        await api.apply(kinds.INGRESS, body)
    # The last one is served by now, though its backend does not exist: the others have been taken in too.
    await client.ask(f"http://{rules['fresh']}:{apart.http_port}/", status=503)
    # Another job's host is judged anew, so the operator has looked at the Ingresses; the pair's condition has not moved.
    await apply(api, no_server("late", apart, namespace, expose={"host": rules["fresh"]}))
    await job_with(api, "late", namespace, conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)
    for service in ("web", "api"):
        assert (await client.ask(url_of(pair, service)))["server"] == service
    now = await api.get(kinds.NESTED_APP_JOB, "pair", pair["metadata"]["namespace"])
    said, told = (conditions.find(item["status"]["conditions"], conditions.EXPOSED) for item in (before, now))
    assert told == said
    assert (await api.get(kinds.INGRESS, "pair", where))["metadata"]["uid"] == own["metadata"]["uid"]


@pytest.mark.xdist_group("pair")
async def test_both_targets_are_reached_at_every_path_and_exposed_goes_and_comes_with_their_pods(
    api: Api, pair: Object, apart: Cluster, client: Client, tmp_path: Path
) -> None:
    job, namespace = pair, pair["metadata"]["namespace"]
    assert job["status"]["url"] == url_of(job, "web") == apart.url(f"pair-{namespace}")
    assert url_of(job, "api") == apart.url(f"api--pair-{namespace}")
    for service in ("web", "api"):
        for path in ("", "deep/path/?x=1&y=%20"):
            answer = await client.ask(url_of(job, service) + path)
            assert (answer["server"], answer["path"], answer["scheme"]) == (service, f"/{path}", "http")

    inside = await nested_kubeconfig(api, job, tmp_path)
    await kubectl(inside, "scale", "-n", "tools", "deployment/api", "--replicas=0")
    gone = await job_with(api, "pair", namespace, conditions.EXPOSED, "False", conditions.NO_READY_ENDPOINT)
    assert message_of(gone, conditions.EXPOSED) == "no pod of Service 'api' in namespace 'tools' of the nested cluster is ready"
    assert {item["serviceName"]: item["ready"] for item in gone["status"]["targets"]} == {"web": True, "api": False}
    assert (await client.ask(url_of(gone, "web")))["server"] == "web"
    await client.ask(url_of(gone, "api"), status=503)

    await kubectl(inside, "scale", "-n", "tools", "deployment/api", "--replicas=1")
    back = await job_with(api, "pair", namespace, conditions.EXPOSED, "True")
    assert all(item["ready"] for item in back["status"]["targets"])
    assert (await client.ask(url_of(back, "api")))["server"] == "api"


@dataclass
class Secured:
    """A class whose jobs are served by TLS, and who is to be trusted for it."""

    name: str
    trust: ssl.SSLContext


@pytest.fixture
async def secured(api: Api, cluster: Cluster) -> AsyncIterator[Secured]:
    """The default class with a wildcard certificate for its domain, signed by an authority of this test."""
    name, now = f"tls-{uuid.uuid4().hex[:6]}", datetime.datetime.now(datetime.UTC)
    authority = certificates.new_authority("e2e", now)
    leaf = certificates.new_leaf(authority, cluster.domain, now, hosts=[f"*.{cluster.domain}"])
    pair = {"tls.crt": leaf.certificate, "tls.key": leaf.key}
    data = {key: base64.b64encode(content).decode() for key, content in pair.items()}
    meta = {"name": name, "namespace": install.NAMESPACE}
    await api.apply(kinds.SECRET, {"metadata": meta, "type": "kubernetes.io/tls", "data": data})
    await apply_class(api, name, expose={"tlsSecretName": name, "port": cluster.https_port})
    yield Secured(name, ssl.create_default_context(cadata=authority.certificate.decode()))
    await api.delete(kinds.NESTED_CLASS, name)
    await api.delete(kinds.SECRET, name, install.NAMESPACE)


# The class is made before the namespace, so that it goes after the namespace's jobs.
async def test_all_targets_are_served_with_the_classs_certificate(
    api: Api, secured: Secured, namespace: str, cluster: Cluster
) -> None:
    await apply(api, two_servers("safe", namespace, className=secured.name))
    job = await job_with(api, "safe", namespace, conditions.READY, "True")
    assert job["status"]["url"] == cluster.url(f"safe-{namespace}", is_secure=True)
    assert url_of(job, "api") == cluster.url(f"api--safe-{namespace}", is_secure=True)
    async with browse(cluster, secured.trust) as session:
        client = Client(session)
        for service in ("web", "api"):
            answer = await client.ask(f"{url_of(job, service)}a/b")
            assert (answer["server"], answer["path"], answer["scheme"]) == (service, "/a/b", "https")
        async with session.ws_connect(f"{url_of(job, 'web')}ws") as stream:
            assert await client.echo(stream, "hello") == "web: hello"
