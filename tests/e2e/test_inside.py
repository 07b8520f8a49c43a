"""The nested cluster of an app of several servers, as its user meets it: kubectl, logs, exec, DNS, tokens, no way to the host."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, example, fresh_namespace, kubectl, nested_kubeconfig, try_kubectl
from tests.waiting import job_with, wait_for_any

# They share a nested cluster, which one worker is enough for.
pytestmark = pytest.mark.xdist_group("inside")

TOOLBOX = """
apiVersion: v1
kind: Pod
metadata: {name: toolbox, namespace: tools, labels: {app: toolbox}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: docker.io/library/busybox:1.35
    command: [sh, -c, 'echo started; echo name=$MY_NAME ns=$MY_NAMESPACE; exec sleep 3600']
    env:
    - {name: MY_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: MY_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
"""
RESOLVE = "for i in $(seq 150); do nslookup web.default.svc.cluster.local >/dev/null 2>&1 && exit 0; sleep 0.2; done; exit 1"


@pytest.fixture(scope="module")
async def shop(api: Api, used_namespaces: list[str]) -> AsyncIterator[Object]:
    """A job of a web server and a database, ready."""
    async with fresh_namespace(api, used_namespaces) as namespace:
        await apply(api, example("02-web-and-database", "shop", namespace))
        yield await job_with(api, "shop", namespace, conditions.READY, "True")


@pytest.fixture(scope="module")
async def inside(api: Api, shop: Object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of its nested cluster, which has a pod with a shell in the namespace `tools`, too."""
    kubeconfig = await nested_kubeconfig(api, shop, tmp_path_factory.mktemp("inside"))
    await kubectl(kubeconfig, "create", "namespace", "tools")
    await kubectl(kubeconfig, "apply", "-f", "-", stdin=TOOLBOX)
    await kubectl(kubeconfig, "wait", "-n", "tools", "--for=condition=Ready", "pod/toolbox")
    # Ready means that DNS answers; a Service that is this young may still be on its way to it.
    await kubectl(kubeconfig, "exec", "-n", "tools", "toolbox", "--", "sh", "-c", RESOLVE)
    return kubeconfig


async def test_the_web_server_shows_a_value_that_it_read_from_the_database(shop: Object, web: Web) -> None:
    assert len(shop["status"]["steps"]) >= 2
    assert "Hello from the database of a nested cluster" in await web.page(shop["status"]["url"])


async def test_pods_of_the_nested_cluster_read_well_and_answer(inside: Path, api: Api) -> None:
    pods = await kubectl(inside, "get", "pods", "-A")
    assert "toolbox" in pods
    assert "Running" in pods
    nodes = await kubectl(inside, "get", "nodes")
    assert any(item["metadata"]["name"] in nodes for item in await api.list(kinds.NODE))
    assert " Ready" in nodes

    logs = await kubectl(inside, "logs", "-n", "tools", "toolbox")
    assert logs == "started\nname=toolbox ns=tools\n"
    assert await kubectl(inside, "logs", "-n", "tools", "toolbox", "--tail=1") == "name=toolbox ns=tools\n"

    assert await kubectl(inside, "exec", "-n", "tools", "toolbox", "--", "echo", "hi") == "hi\n"
    echoed = await kubectl(inside, "exec", "-i", "-n", "tools", "toolbox", "--", "cat", stdin="through the tunnel")
    assert echoed == "through the tunnel"
    code, output = await try_kubectl(inside, "exec", "-n", "tools", "toolbox", "--", "sh", "-c", "exit 3")
    assert code == 3, output

    code, output = await try_kubectl(inside, "logs", "-n", "tools", "toolbox", "-c", "none")
    assert code != 0
    assert "none" in output


async def test_names_resolve_inside_and_the_api_is_the_nested_one(inside: Path, api: Api) -> None:
    async def shell(command: str) -> str:
        return await kubectl(inside, "exec", "-n", "tools", "toolbox", "--", "sh", "-c", command)

    page = await shell("wget -q -O - http://web.default:8080/")
    assert "Hello" in page
    resolved = await shell("nslookup kubernetes.default.svc.cluster.local | tail -n +3")
    host_api = (await api.get(kinds.SERVICE, "kubernetes", "default"))["spec"]["clusterIP"]
    assert host_api not in resolved
    assert (await shell("echo $KUBERNETES_SERVICE_HOST")).strip() in resolved

    token = await shell("cat /var/run/secrets/kubernetes.io/serviceaccount/token | cut -d. -f2")
    claims = json.loads(base64.urlsafe_b64decode(token.strip() + "=="))
    assert claims["kubernetes.io"]["namespace"] == "tools"
    assert claims["kubernetes.io"]["pod"]["name"] == "toolbox"
    assert await shell("cat /var/run/secrets/kubernetes.io/serviceaccount/namespace") == "tools"


async def test_a_nested_pod_goes_when_it_is_deleted_and_comes_back_by_its_controller(inside: Path) -> None:
    before = await kubectl(inside, "get", "pods", "-l", "app=web", "-o", "name")
    await kubectl(inside, "delete", before.strip())
    await kubectl(inside, "rollout", "status", "deployment/web")
    after = await kubectl(inside, "get", "pods", "-l", "app=web", "-o", "name")
    assert after != before


async def test_what_the_host_forbids_is_refused_with_an_event_on_the_nested_pod(inside: Path) -> None:
    pod = TOOLBOX.replace("toolbox", "nosy").replace("  containers:", "  hostNetwork: true\n  containers:")
    await kubectl(inside, "apply", "-f", "-", stdin=pod)
    async with await Api.connect(str(inside)) as nested:
        event = await wait_for_any(
            nested, kinds.EVENT, "tools", lambda item: item["involvedObject"]["name"] == "nosy" and item["type"] == "Warning"
        )
    assert "hostNetwork" in event["message"]
