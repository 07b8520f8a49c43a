"""A cluster with Nestor installed by its chart, one per test run; a namespace per test.

The cluster is the embedded one, or the one that `CLUSTER` chooses (devcluster/README.md). The tests in `devcluster/` are about
the embedded one, and run there alone.
"""

import asyncio
import base64
import contextlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

import devcluster.cluster
from devcluster import progress
from devcluster.build import cache, references, registry
from devcluster.cluster import embedded, paths, settings
from devcluster.demo import install
from devcluster.demo.tools import find_tool
from nestor.api import conditions, labels
from nestor.api.appdef_versions import sort_versions
from nestor.kube import Api, kinds
from tests import children, waiting
from tests.e2e import failures
from tests.suite import core

ROOT = Path(__file__).parents[2]
IS_EMBEDDED = os.environ.get("CLUSTER", "") in ("", "embedded")
BUSYBOX = "docker.io/library/busybox:1.35"
REGISTRY = os.environ.get("NESTOR_IMAGE_PREFIX") or "registry.nestor.localhost"
"""What the references of the examples' images begin with."""
EXTRAS = ("examples", "python", "redis", "volumes")
"""Of the embedded cluster; a test that needs more asks for it."""
LIMIT_SECONDS = 900
"""For one test with its fixtures, while others keep the machine busy."""
LONGEST_SECONDS = 1800
BUILDERS = {"argocd", "conformance", "gpus", "metrics", "prometheus"}
"""Groups whose fixtures may build what only their tests need, and which have `LONGEST_SECONDS`."""
NOTHING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing, namespace: default}\n"
"""A template of a job whose pods a test makes itself."""
Object = dict[str, Any]

collect_ignore = [] if IS_EMBEDDED else ["devcluster"]


@dataclass
class Cluster:
    """Where the tests' cluster is."""

    kubeconfig: Path
    http_port: int
    domain: str
    https_port: int = 443
    address: str = "127.0.0.1"

    def url(self, name: str, *, is_secure: bool = False) -> str:
        """The URL of a host below the cluster's domain."""
        scheme, port, default = ("https", self.https_port, 443) if is_secure else ("http", self.http_port, 80)
        return f"{scheme}://{name}.{self.domain}{'' if port == default else f':{port}'}/"


_WAS_RUNNING = pytest.StashKey[bool]()
_CLUSTER = pytest.StashKey[Cluster | Exception]()
_KEEPER = pytest.StashKey[failures.Keeper]()


def pytest_configure(config: pytest.Config) -> None:
    """Fixtures of their own files, which need this one."""
    config.pluginmanager.import_plugin("tests.e2e.overflow")
    config.pluginmanager.import_plugin("tests.e2e.isolation")
    config.pluginmanager.import_plugin("tests.e2e.argocd")
    config.pluginmanager.import_plugin("tests.e2e.house")
    config.pluginmanager.import_plugin("tests.e2e.services")
    config.pluginmanager.import_plugin("tests.e2e.prometheus")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first: as the last of a run, one worker would be busy with them while the others have nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and not item.get_closest_marker("timeout"):
            builds = any(mark.args[0] in BUILDERS for mark in item.iter_markers("xdist_group"))
            item.add_marker(pytest.mark.timeout(LONGEST_SECONDS if builds else LIMIT_SECONDS))
        if core.is_core(item.nodeid):
            item.add_marker(pytest.mark.core)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember, before any worker starts, whether the machine had a cluster: one that it had is left alone."""
    if not is_worker(session.config):
        session.config.stash[_WAS_RUNNING] = bool(devcluster.cluster.status().running)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Take the cluster down after the last worker."""
    was_running = session.config.stash.get(_WAS_RUNNING, True)
    if not is_worker(session.config) and not was_running and not os.environ.get("NESTOR_KEEP"):
        devcluster.cluster.down()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Start the cluster before the clock of the first test that uses it: everything may have to be built for it."""
    if "cluster" in getattr(item, "fixturenames", ()) and _CLUSTER not in item.config.stash:
        try:
            item.config.stash[_CLUSTER] = start_cluster()
        except Exception as error:  # the fixture raises it, in each test
            item.config.stash[_CLUSTER] = error
    return (yield)


def start_cluster() -> Cluster:
    """The cluster with Nestor in it; the first of several workers starts it, the others wait for that."""
    report = progress.Console()
    with cache.default().lock("e2e"):
        info = devcluster.cluster.up(report, *EXTRAS)
        install.install_nestor(info, report)
    return Cluster(info.kubeconfig, info.http_url_port, info.domain, info.https_url_port, info.address)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what the cluster says when a test fails, and say where."""
    report = yield
    found = item.config.stash.get(_CLUSTER, None)
    kubeconfig = found.kubeconfig if isinstance(found, Cluster) else paths.default().kubeconfig
    if report.failed and item.path.is_relative_to(Path(__file__).parent) and kubeconfig.exists():
        keeper = item.config.stash.setdefault(_KEEPER, failures.Keeper(paths.default().cache / "failed", find_tool("kubectl")))
        report.sections.append(("logs and events of the cluster", str(keeper.keep(item.nodeid, kubeconfig))))
    return report


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs a share of the tests for another one."""
    return hasattr(config, "workerinput")


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Cluster:
    """The cluster with Nestor in it."""
    found = pytestconfig.stash[_CLUSTER]
    if isinstance(found, Exception):
        raise found
    return found


@pytest.fixture(scope="session")
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    """A client with the admin's rights in the host cluster."""
    async with await Api.connect(str(cluster.kubeconfig), manager="e2e") as client:
        yield client


@pytest.fixture(scope="session")
def kubeconfig(cluster: Cluster) -> Path:
    """The admin's kubeconfig of the host cluster."""
    return cluster.kubeconfig


@pytest.fixture(scope="session")
async def used_namespaces(api: Api) -> AsyncIterator[list[str]]:
    """The users' namespaces of all tests. Their jobs are deleted after each test, and in the end nothing is left of any."""
    found: list[str] = []
    yield found
    for name in found:
        await waiting.wait_for_none(api, kinds.NESTED_APP_JOB, name)
        await waiting.wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_namespace=name))
        await api.delete(kinds.NAMESPACE, name)


@pytest.fixture
async def namespace(api: Api, used_namespaces: list[str]) -> AsyncIterator[str]:
    """A fresh namespace of a user; its jobs go while the next test runs."""
    async with fresh_namespace(api, used_namespaces) as name:
        yield name


@contextlib.asynccontextmanager
async def fresh_namespace(api: Api, used: list[str]) -> AsyncIterator[str]:
    """A user's namespace, added to the `used` ones, whose jobs are deleted in the end.

    The host's own controllers fill it a moment after it is made; who compares its objects must not see them do so.
    """
    name = f"team-{uuid.uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await waiting.wait_for(api, kinds.SERVICE_ACCOUNT, "default", name, bool)
    await waiting.wait_for(api, kinds.CONFIG_MAP, "kube-root-ca.crt", name, bool)
    used.append(name)
    yield name
    for job in await api.list(kinds.NESTED_APP_JOB, name):
        await api.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], name)


@dataclass
class Answer:
    """What a request for a page got."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Web:
    """HTTP through the cluster's Ingress controller, as a browser on this machine would."""

    session: aiohttp.ClientSession
    address: str
    port: int

    async def ask(self, url: str, *, follow: bool = True) -> Answer:
        """What one request to the URL got; the URL's host travels as the Host header to the controller's port."""
        host = url.split("//", 1)[1].split("/", 1)[0]
        path = url.split(host, 1)[1] or "/"
        async with self.session.get(
            f"http://{self.address}:{self.port}{path}", headers={"Host": host}, allow_redirects=follow
        ) as response:
            return Answer(response.status, response.headers, await response.text())

    async def page(self, url: str, *, has: str = "") -> str:
        """The text of a page that answers 200, and has this text in it."""
        return (await self.answer(url, status=200, has=has)).text

    async def answer(self, url: str, *, status: int, has: str = "", follow: bool = True) -> Answer:
        """The first answer with this status and text; asked until then, as an Ingress controller follows endpoints a moment
        late.
        """
        last_seen: object = None

        async def look() -> Answer | None:
            nonlocal last_seen
            try:
                last_seen = found = await self.ask(url, follow=follow and not 300 <= status < 400)
            except (aiohttp.ClientPayloadError, TimeoutError) as error:  # its pod was replaced while it answered; of one request
                last_seen = error
                return None
            return found if found.status == status and has in found.text else None

        return await waiting.eventually(look)


@pytest.fixture(scope="session")
async def web(cluster: Cluster) -> AsyncIterator[Web]:
    """The Ingress, from outside."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield Web(session, cluster.address, cluster.http_port)


@pytest.fixture
async def versions(api: Api) -> list[str]:
    """The Kubernetes versions that the default class offers, the newest one last."""
    return sort_versions(await _list_offered(api))


async def _list_offered(api: Api) -> list[str]:
    found: list[str] = (await api.get(kinds.NESTED_CLASS, "default"))["status"]["effective"]["cluster"]["versions"]
    return found


@pytest.fixture
async def default_version(api: Api) -> str:
    """The one that a job gets which asks for none."""
    return (await _list_offered(api))[0]


async def apply_class(api: Api, name: str, **parts: Any) -> None:
    """Have a class as the default one, but for these parts of it. What a part does not mention stays."""
    spec: Object = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    changed = {key: spec[key] | value if isinstance(spec.get(key), dict) else value for key, value in parts.items()}
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec | changed})


@contextlib.asynccontextmanager
async def class_like_default(api: Api, prefix: str, **parts: Any) -> AsyncIterator[str]:
    """Such a class, for as long as it is needed; its name begins like this."""
    name = f"{prefix}-{uuid.uuid4().hex[:6]}"
    await apply_class(api, name, **parts)
    try:
        yield name
    finally:
        await api.delete(kinds.NESTED_CLASS, name)


def push_images(images: Sequence[tuple[str, Path]]) -> None:
    """Have images (reference and archive) in the registry of the embedded cluster."""
    target = registry.Registry(settings.REGISTRY)
    if any([target.push(archive, references.parse(reference)) for reference, archive in images]):
        embedded.forget_old_images(paths.default(), progress.Console())


def image(name: str) -> str:
    """The reference of one of our images, as this cluster pulls it."""
    return f"{REGISTRY}/{name}"


def read_example(folder: str, file: str) -> list[Object]:
    """The documents of an example, its image as this cluster pulls it."""
    text = (ROOT / "examples" / folder / file).read_text()
    return list(yaml.safe_load_all(text.replace("registry.nestor.localhost/", image(""))))


def example(folder: str, name: str, namespace: str, file: str = "job.yaml") -> list[Object]:
    """The documents of an example, the job renamed and everything put into `namespace`."""
    documents = read_example(folder, file)
    for document in documents:
        document["metadata"]["namespace"] = namespace
        if document["kind"] == "NestedAppJob":
            document["metadata"]["name"] = name
    return documents


def inline_job(
    name: str, namespace: str, templates: dict[str, str], steps: Sequence[Object] | None = None, **nested: Any
) -> list[Object]:
    """A job whose templates come from a ConfigMap: one kubectl step per file, in order, unless `steps` says otherwise."""
    steps = steps or [{"name": key.split(".")[0], "type": "kubectl", "path": key} for key in templates]
    app_def = {
        "name": name,
        "appdefversion": 2,
        "appkind": "kns",
        "commands": {
            "Run": {"path": "/usr/bin/true", "parameters": {}, "name": "Run", "nested_kubernetes": {"templates": steps, **nested}}
        },
    }
    meta = {"name": f"{name}-files", "namespace": namespace}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": templates}
    job = {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"app": {"templatesFrom": {"configMapRef": {"name": f"{name}-files"}}, "appDef": app_def}},
    }
    return [config_map, job]


def dump(*documents: Object) -> str:
    """For `kubectl apply -f -`."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})


_KINDS = {"ConfigMap": kinds.CONFIG_MAP, "Secret": kinds.SECRET, "NestedAppJob": kinds.NESTED_APP_JOB}


async def apply(api: Api, documents: list[Object]) -> Object:
    """Apply an example's documents; returns the job."""
    applied: Object = {}
    for document in documents:
        applied = await api.apply(_KINDS[document["kind"]], document)
    return applied


def workload(kind: str, name: str, namespace: str = "default", **pod: Any) -> Object:
    """A Deployment of one pod, or a DaemonSet, whose pods sleep and have these fields."""
    container = {"name": "main", "image": BUSYBOX, "command": ["sleep", "3600"]}
    selector = {"matchLabels": {"app": name}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container], **pod}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {"selector": selector, "template": template}}


async def nested_kubeconfig(api: Api, job: Object, folder: Path) -> Path:
    """The job's admin kubeconfig, written to a file."""
    secret = await api.get(kinds.SECRET, job["status"]["kubeconfigSecretName"], job["metadata"]["namespace"])
    path = folder / f"{job['metadata']['name']}.kubeconfig"
    path.write_bytes(base64.b64decode(secret["data"]["kubeconfig"]))
    return path


async def open_cluster(api: Api, name: str, namespace: str, folder: Path, **spec: Any) -> tuple[Object, Path]:
    """A job without an application: itself, and the kubeconfig of its nested cluster, in which pods can be made at once."""
    documents = inline_job(name, namespace, {"nothing.yaml": NOTHING})
    documents[-1]["spec"] |= spec
    await apply(api, documents)
    await waiting.job_with(api, name, namespace, conditions.STEPS_APPLIED, "True")
    job = await waiting.job_with(api, name, namespace, conditions.CLUSTER_READY, "True")
    inside = await nested_kubeconfig(api, job, folder)
    await kubectl(inside, "wait", "--for=create", "serviceaccount/default")
    return job, inside


async def kubectl(kubeconfig: Path, *arguments: str, stdin: str | None = None) -> str:
    """Run kubectl against a cluster; fails with its output when it fails."""
    code, output = await try_kubectl(kubeconfig, *arguments, stdin=stdin)
    assert code == 0, f"kubectl {' '.join(arguments)} exited {code}: {output}"
    return output


async def kubectl_says(kubeconfig: Path, *arguments: str, text: str) -> str:
    """What kubectl says, once this text is in it."""
    return await waiting.until(lambda: kubectl(kubeconfig, *arguments), lambda said: text in said)


async def try_kubectl(kubeconfig: Path, *arguments: str, stdin: str | None = None) -> tuple[int, str]:
    """Run kubectl; its exit code and output (errors included). What it waits for may take as long as a test."""
    patience = (f"--timeout={LIMIT_SECONDS}s",) if {"wait", "rollout"} & {*arguments[:3]} else ()
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    return await children.run(find_tool("kubectl"), *arguments, *patience, stdin=stdin, limit=LIMIT_SECONDS, env=environment)


async def helm(kubeconfig: Path, *arguments: str, stdin: str | None = None) -> str:
    """Run Helm, which must succeed; what it prints."""
    streams = {name: asyncio.subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    async with (
        children.running(find_tool("helm"), *arguments, env=environment, **streams) as process,
        asyncio.timeout(LIMIT_SECONDS),
    ):
        output, errors = await process.communicate(stdin.encode() if stdin else None)
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def change_nestor(kubeconfig: Path, value: str) -> None:
    """Upgrade Nestor's release with another value, for a test that has the cluster for itself: its operator starts again."""
    chart = ("nestor", str(ROOT / "charts/nestor"), "-n", "nestor-system", "--reset-then-reuse-values")
    await helm(kubeconfig, "upgrade", *chart, "--set", value, "--wait", "--timeout=3m")
