"""What the nested API server asks of servers inside its cluster: webhooks that admit and convert, and an aggregated API."""

import base64
import datetime
import json
from pathlib import Path

import pytest

from devcluster.build.dockerfiles import PYTHON
from nestor.api.objects import Object
from nestor.cluster import certificates
from tests.e2e import webhook_server
from tests.e2e.conftest import dump, kubectl, try_kubectl
from tests.e2e.house import House
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("house")

NAME, SPACE = "hooks", "tools"
HOST = f"{NAME}.{SPACE}.svc"
SOURCE = Path(webhook_server.__file__).read_text()
VERSION = f"{webhook_server.VERSION}.{webhook_server.GROUP}"
LABEL = {"matchLabels": {"hooked": "yes"}}


def encode(text: bytes) -> str:
    """Base64."""
    return base64.b64encode(text).decode()


def build_server(pair: certificates.Pair) -> list[Object]:
    """The server, its certificate and its Service."""
    meta = {"name": NAME, "namespace": SPACE}
    container = {
        "name": "server",
        "image": PYTHON,
        "command": ["python3", "-u", "/app/server.py"],
        "readinessProbe": {
            "httpGet": {"path": "/healthz", "port": 8443, "scheme": "HTTPS"},
            "periodSeconds": 1,
            "timeoutSeconds": 10,
        },
        "volumeMounts": [{"name": "app", "mountPath": "/app"}, {"name": "tls", "mountPath": "/tls"}],
    }
    volumes = [{"name": "app", "configMap": {"name": NAME}}, {"name": "tls", "secret": {"secretName": NAME}}]
    spec = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 1}
    keys = {"tls.crt": encode(pair.certificate), "tls.key": encode(pair.key)}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"server.py": SOURCE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/tls", "data": keys},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {
                "selector": {"matchLabels": {"app": NAME}},
                "template": {"metadata": {"labels": {"app": NAME}}, "spec": spec},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": {"app": NAME}, "ports": [{"port": 443, "targetPort": 8443}]},
        },
    ]


def build_admission(kind: str, path: str, authority: str) -> Object:
    """A webhook for ConfigMaps with our label."""
    service = {"name": NAME, "namespace": SPACE, "path": path}
    webhook = {
        "name": f"{kind.lower()}.example.com",
        "clientConfig": {"service": service, "caBundle": authority},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
        "objectSelector": LABEL,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
    }
    api_version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api_version, "kind": f"{kind}WebhookConfiguration", "metadata": {"name": NAME}, "webhooks": [webhook]}


def build_crd(authority: str) -> Object:
    """A kind with two versions, which only the webhook can tell from each other."""
    service = {"name": NAME, "namespace": SPACE, "path": "/convert"}
    webhook = {"clientConfig": {"service": service, "caBundle": authority}, "conversionReviewVersions": ["v1"]}

    def version(name: str, size: str) -> Object:
        properties = {"spec": {"type": "object", "properties": {"size": {"type": size}}}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": schema}

    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box"},
            "versions": [version("v1", "integer"), version("v2", "string")],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def build_api(authority: str) -> Object:
    """The aggregated API."""
    spec = {
        "group": webhook_server.GROUP,
        "version": webhook_server.VERSION,
        "service": {"name": NAME, "namespace": SPACE},
        "caBundle": authority,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": VERSION}, "spec": spec}


@pytest.fixture(scope="module")
async def inside(house: House) -> Path:
    """The kubeconfig of a nested cluster in which the server runs, and whose API server knows of all that it serves."""
    now = datetime.datetime.now(datetime.UTC)
    authority = certificates.new_authority("hooks", now)
    pair = certificates.new_leaf(authority, HOST, now, hosts=[HOST])
    bundle = encode(authority.certificate)
    await kubectl(house.kubeconfig, "apply", "-f", "-", stdin=dump(*build_server(pair)))
    await kubectl(house.kubeconfig, "rollout", "status", "-n", SPACE, f"deployment/{NAME}")
    served = [build_admission("Mutating", "/sign", bundle), build_admission("Validating", "/check", bundle)]
    await kubectl(house.kubeconfig, "apply", "-f", "-", stdin=dump(*served, build_crd(bundle), build_api(bundle)))
    return house.kubeconfig


def build_config(name: str, **data: str) -> str:
    """A ConfigMap that webhooks are asked about."""
    meta = {"name": name, "namespace": "default", "labels": {"hooked": "yes"}}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})


async def test_an_admission_webhook_changes_what_is_made(inside: Path) -> None:
    async def is_signed() -> bool:
        """The API server begins to ask a moment after it is told of a webhook."""
        await kubectl(inside, "delete", "configmap", "good", "--ignore-not-found")
        _, output = await try_kubectl(inside, "create", "-o", "json", "-f", "-", stdin=build_config("good", a="b"))
        return '"signed-by": "nestor:admin"' in output

    await eventually(is_signed)


async def test_an_admission_webhook_refuses_with_its_own_words(inside: Path) -> None:
    async def refusal() -> str:
        await kubectl(inside, "delete", "configmap", "refused", "--ignore-not-found")
        code, output = await try_kubectl(inside, "create", "-f", "-", stdin=build_config("refused", bad="x"))
        return output if code else ""

    assert 'admission webhook "validating.example.com" denied the request: this has a bad key' in await eventually(refusal)


async def test_a_conversion_webhook_serves_the_other_version(inside: Path) -> None:
    await kubectl(inside, "wait", "--for=condition=Established", "crd/boxes.example.com")
    box = {"apiVersion": "example.com/v2", "kind": "Box", "metadata": {"name": "one", "namespace": "default"}}
    await kubectl(inside, "apply", "-f", "-", stdin=dump({**box, "spec": {"size": "7m"}}))
    for version, size in (("v1", "7"), ("v2", '"7m"')):
        path = f"/apis/example.com/{version}/namespaces/default/boxes/one"
        assert f'"spec":{{"size":{size}}}' in await kubectl(inside, "get", "--raw", path)


async def test_an_aggregated_api_answers_as_if_it_were_the_servers_own(inside: Path) -> None:
    await kubectl(inside, "wait", "--for=condition=Available", f"apiservice/{VERSION}")
    assert await kubectl(inside, "get", "greetings", "-o", "jsonpath={.items[0].spec.text}") == "hello nestor:admin"
    assert "hello nestor:admin" in await kubectl(inside, "get", "greeting", "you", "-o", "yaml")


async def test_without_its_server_what_needs_it_is_refused_and_all_else_goes_on(inside: Path) -> None:
    await kubectl(inside, "scale", "-n", SPACE, f"deployment/{NAME}", "--replicas=0")
    await kubectl(inside, "wait", "-n", SPACE, "--for=delete", "pod", "-l", f"app={NAME}")
    code, output = await try_kubectl(inside, "create", "-f", "-", stdin=build_config("late", a="b"))
    assert code == 1
    assert "failed calling webhook" in output
    await kubectl(inside, "create", "configmap", "free", "--from-literal=a=b")
    await kubectl(inside, "scale", "-n", SPACE, f"deployment/{NAME}", "--replicas=1")
    await kubectl(inside, "rollout", "status", "-n", SPACE, f"deployment/{NAME}")

    async def is_back() -> bool:
        code, _ = await try_kubectl(inside, "apply", "-f", "-", stdin=build_config("late", a="b"))
        return code == 0

    await eventually(is_back)
