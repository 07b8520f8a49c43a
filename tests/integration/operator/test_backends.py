"""OverflowBackends before a real API server: their process and its rights, their nodes, their certificates, their end.

The tests play kubelet and the process of the virtual nodes.
"""

import base64
import contextlib
import ipaddress
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from nestor.api import conditions, labels
from nestor.api.contracts import vnode
from nestor.api.objects import Object, labels_of
from nestor.api.times import timestamp
from nestor.cluster.certificates import new_key
from nestor.kube import Api, Forbidden, kinds
from nestor.operator.backends.process import account_of
from nestor.overflow.vnode.identity import Wish, build_request
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import READY_POD
from tests.waiting import another, eventually, exists, gone, has, wait_for, wait_for_any

SYSTEM = "nestor-system"
ADDRESS = "10.7.7.7"
CPU: Object = {"name": "cpu", "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
GPU: Object = {"name": "gpu", "capacity": {"cpu": "8", "nvidia.com/gpu": "2"}, "labels": {"gpu-type": "a100"}}


@dataclass
class Backend:
    """One backend, and the parts that the tests play for it."""

    api: Api
    """With all rights."""
    own: Api
    """With the rights of its process."""
    name: str

    async def create(self, **spec: Any) -> Object:
        """Create it."""
        full = {"type": "Interlink", "interlink": {"url": "https://link.test"}, "drainSeconds": 0} | spec
        kind = kinds.OVERFLOW_BACKEND
        return await self.api.create(
            kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": self.name}, "spec": full}
        )

    async def start_process(self) -> Object:
        """What the scheduler and kubelet would do to its pod."""
        pod = await wait_for_any(
            self.api, kinds.POD, SYSTEM, lambda found: "deletionTimestamp" not in found["metadata"], labels=self.selector
        )
        status = READY_POD | {"podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
        return await self.api.patch(kinds.POD, pod["metadata"]["name"], SYSTEM, {"status": status}, subresource="status")

    async def tell(self, *shapes: Object, status: str = "True", reason: str = conditions.BACKEND_ANSWERS) -> None:
        """What its process would report, by its own rights."""
        reachable = {
            "type": "Reachable",
            "status": status,
            "reason": reason,
            "message": "told",
            "lastTransitionTime": timestamp(),
        }
        body = {"metadata": {"name": self.name}, "status": {"conditions": [reachable], "shapes": list(shapes)}}
        await self.own.apply(kinds.OVERFLOW_BACKEND, body, subresource="status")

    async def be_ready(self, *nodes: str) -> None:
        """What its process would write about its nodes."""
        for node in nodes:
            await self.wait_for_node(node)
            ready = {"type": "Ready", "status": "True", "reason": "BackendAnswers", "message": "it answers"}
            await self.api.patch(kinds.NODE, node, None, {"status": {"conditions": [ready]}}, subresource="status")

    async def wait_for_node(self, name: str) -> Object:
        """One of its nodes, once it is there."""
        return await exists(self.api, kinds.NODE, name, "")

    async def wait_for_ready(self, status: str, reason: str) -> Object:
        """Await what `Ready` says."""
        return await exists(self.api, kinds.OVERFLOW_BACKEND, self.name, "", has(conditions.READY, status, reason))

    async def ask(self, wish: Wish, **spec: Any) -> Object:
        """Its process asks for a certificate. Returns the request once it is answered."""
        body = build_request(wish, new_key())
        body["spec"] |= spec
        made = await self.own.create(kinds.CERTIFICATE_REQUEST, body)

        def is_answered(found: Object | None) -> bool:
            status = (found or {}).get("status") or {}
            types = {item["type"] for item in status.get("conditions") or ()}
            return "Denied" in types or ("Approved" in types and bool(status.get("certificate")))

        name = made["metadata"]["name"]
        return await exists(self.api, kinds.CERTIFICATE_REQUEST, name, "", is_answered)

    @property
    def selector(self) -> str:
        """Of its pods."""
        return f"{labels.BACKEND}={self.name}"


@contextlib.asynccontextmanager
async def _backend(plane: apiserver.ControlPlane, api: Api) -> AsyncIterator[Backend]:
    name = f"link-{uuid.uuid4().hex[:6]}"
    async with await Api.connect(str(plane.kubeconfig_of(account_of(name, SYSTEM))), manager="nestor-vnode") as own:
        yield Backend(api, own, name)


@pytest.fixture
async def backend(plane: apiserver.ControlPlane, operator: Operator, api: Api) -> AsyncIterator[Backend]:
    """A backend that is not created yet."""
    async with _backend(plane, api) as found:
        yield found


@pytest.fixture
async def other(plane: apiserver.ControlPlane, operator: Operator, api: Api) -> AsyncIterator[Backend]:
    """Another one."""
    async with _backend(plane, api) as found:
        yield found


async def start(backend: Backend, *shapes: Object, **spec: Any) -> None:
    """Have it work, with nodes of these shapes."""
    await backend.create(**spec)
    await backend.start_process()
    await eventually(lambda: may_tell(backend, *shapes))
    await backend.be_ready(*(f"{backend.name}-{shape['name']}" for shape in shapes))
    await backend.wait_for_ready("True", conditions.NODES_READY)


async def may_tell(backend: Backend, *shapes: Object) -> bool:
    """Report, if the process has its rights already."""
    try:
        await backend.tell(*shapes)
    except Forbidden:
        return False
    return True


def answer_of(request: Object) -> tuple[str, str]:
    """How a request was answered, and why."""
    (found,) = request["status"]["conditions"]
    return found["type"], found["message"]


async def test_shapes_become_nodes_and_the_backend_ready(backend: Backend) -> None:
    await start(backend, CPU, GPU, price=7)
    found = await backend.wait_for_ready("True", conditions.NODES_READY)
    assert found["status"]["readyNodes"] == "2/2"
    assert [item["name"] for item in found["status"]["shapes"]] == ["cpu", "gpu"]
    node = await backend.wait_for_node(f"{backend.name}-gpu")
    expected = {"type": "virtual-kubelet", "gpu-type": "a100", labels.BACKEND: backend.name, labels.PRICE: "7"}
    assert node["metadata"]["labels"].items() >= expected.items()
    assert {"key": "virtual-kubelet.io/provider", "value": backend.name, "effect": "NoSchedule"} in node["spec"]["taints"]
    assert [item["uid"] for item in node["metadata"]["ownerReferences"]] == [found["metadata"]["uid"]]


async def test_the_operators_status_and_the_processs_live_side_by_side(backend: Backend) -> None:
    await start(backend, CPU)
    await backend.tell(CPU, status="False", reason=conditions.UNREACHABLE)
    found = await backend.wait_for_ready("False", conditions.UNREACHABLE)
    assert {item["type"] for item in found["status"]["conditions"]} == {"Ready", "Reachable"}
    assert [item["name"] for item in found["status"]["shapes"]] == ["cpu"]
    await backend.tell(CPU)
    await backend.wait_for_ready("True", conditions.NODES_READY)


async def test_a_process_reads_its_own_secrets_and_no_others(backend: Backend, api: Api) -> None:
    for name in (backend.name, f"{backend.name}-other"):
        await api.apply(kinds.SECRET, {"metadata": {"name": name, "namespace": SYSTEM}, "stringData": {"token": "x"}})
    link = {"url": "https://link.test", "tokenRef": {"name": backend.name, "key": "token"}}
    await start(backend, CPU, interlink=link)
    assert (await backend.own.get(kinds.SECRET, backend.name, SYSTEM))["data"]
    await backend.own.get(kinds.CONFIG_MAP, vnode.AUTHENTICATION_CONFIG_MAP, vnode.AUTHENTICATION_NAMESPACE)
    forbidden = (
        (kinds.SECRET, f"{backend.name}-other", SYSTEM),
        (kinds.SECRET, backend.name, "default"),
        (kinds.CONFIG_MAP, "kube-root-ca.crt", SYSTEM),
        (kinds.NODE, f"{backend.name}-cpu", None),
        (kinds.POD, "any", "default"),
    )
    for kind, name, namespace in forbidden:
        with pytest.raises(Forbidden):
            await backend.own.get(kind, name, namespace)
    for kind in (kinds.SECRET, kinds.POD, kinds.NODE, kinds.CERTIFICATE_REQUEST):
        with pytest.raises(Forbidden):
            await backend.own.list(kind)
    with pytest.raises(Forbidden):
        await backend.own.patch(kinds.OVERFLOW_BACKEND, backend.name, None, {"spec": {"price": 1}})


async def test_a_process_reports_about_its_own_backend_only(backend: Backend, other: Backend) -> None:
    await start(other, CPU)
    await backend.create()
    await eventually(lambda: may_tell(backend, CPU))
    body = {"metadata": {"name": other.name}, "status": {"shapes": []}}
    with pytest.raises(Forbidden, match="may report about that backend only"):
        await backend.own.apply(kinds.OVERFLOW_BACKEND, body, subresource="status")
    assert (await other.wait_for_ready("True", conditions.NODES_READY))["status"]["readyNodes"] == "1/1"


async def write_if_allowed(api: Api, node: str) -> bool:
    """Change a node's status, if the rights for that are in force already."""
    try:
        await api.patch(kinds.NODE, node, None, {"status": {"capacity": {"cpu": "4"}}}, subresource="status")
    except Forbidden:
        return False
    return True


async def test_a_node_can_neither_be_made_nor_relabeled_by_its_own_process(
    plane: apiserver.ControlPlane, backend: Backend, api: Api
) -> None:
    """Whoever has stolen its certificate has the rights of a kubelet, but only where a virtual node needs them."""
    await start(backend, CPU)
    node, group = f"{backend.name}-cpu", "rbac.authorization.k8s.io"
    user = f"system:node:{node}"
    await backend.ask(Wish(backend.name, node, "client"))
    binding = {
        "metadata": {"name": f"{node}-thief"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    await api.apply(kinds.CLUSTER_ROLE_BINDING, binding)
    async with await Api.connect(str(plane.kubeconfig_of(user))) as thief:
        await eventually(lambda: write_if_allowed(thief, node))
        changes: list[Object] = [
            {"labels": {labels.BACKEND: "other"}},
            {"labels": {labels.BACKEND: None}},
            {"labels": {"team": "b"}},
            {"annotations": {labels.REMOVED_SINCE: "2999-01-01T00:00:00Z"}},
            {"annotations": {labels.FROM_BACKEND: None}},
            {"finalizers": ["example.com/never"]},
        ]
        for change in changes:
            for part in (None, "status"):
                with pytest.raises(Forbidden, match="may change its status only"):
                    await thief.patch(kinds.NODE, node, None, {"metadata": change}, subresource=part)
        with pytest.raises(Forbidden, match="may change its status only"):
            await thief.patch(kinds.NODE, node, None, {"spec": {"unschedulable": True}})
        with pytest.raises(Forbidden, match="only the process of a backend may ask"):
            await thief.create(kinds.CERTIFICATE_REQUEST, build_request(Wish(backend.name, node, "client"), new_key()))
        await _check_tokens(api, thief, f"agents-{backend.name}")
        await api.delete(kinds.OVERFLOW_BACKEND, backend.name)
        await gone(api, kinds.NODE, node, "")
        with pytest.raises(Forbidden, match="this name is that of a virtual node"):
            await thief.create(kinds.NODE, {"metadata": {"name": node}})


async def _check_tokens(api: Api, thief: Api, space: str) -> None:
    """As a DaemonSet's, whose pods are bound to every node: tokens are for namespaces whose owner says so."""
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": space}})
    await exists(api, kinds.SERVICE_ACCOUNT, "default", space)
    body: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}

    async def ask(namespace: str) -> Object:
        whole = body | {"metadata": {"namespace": namespace}}
        return await thief.create(kinds.SERVICE_ACCOUNT, whole, subresource="token", name="default")

    for namespace in (SYSTEM, "kube-system", space):
        with pytest.raises(Forbidden, match="only in namespaces with the label"):
            await ask(namespace)
    await api.patch(kinds.NAMESPACE, space, None, {"metadata": {"labels": {"nestor.dev/backend-tokens": "allowed"}}})

    async def is_given() -> bool:
        """The label is known a moment later."""
        with contextlib.suppress(Forbidden):
            return bool((await ask(space))["status"]["token"])
        return False

    await eventually(is_given)


async def test_machines_join_as_before(plane: apiserver.ControlPlane, backend: Backend, api: Api) -> None:
    """Also those whose names begin like a virtual node's."""
    await start(backend, CPU)
    await backend.ask(Wish(backend.name, f"{backend.name}-cpu", "client"))
    node, group = f"{backend.name}-cpu-1", "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": node},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": f"system:node:{node}"}],
    }
    await api.apply(kinds.CLUSTER_ROLE_BINDING, binding)
    body: Object = {"metadata": {"name": node, "labels": {"own": "x"}}}
    async with await Api.connect(str(plane.kubeconfig_of(f"system:node:{node}"))) as kubelet:

        async def join() -> bool:
            try:
                await kubelet.create(kinds.NODE, body)
            except Forbidden:
                return False
            return True

        await eventually(join)
        after = await kubelet.patch(kinds.NODE, node, None, {"metadata": {"labels": {"own": "y"}}})
        assert labels_of(after)["own"] == "y"
    await api.delete(kinds.NODE, node)


EXCESSIVE: tuple[tuple[Object, str], ...] = (
    ({"spec": {"signerName": "kubernetes.io/kube-apiserver-client"}}, "certificates of nodes only"),
    ({"preamble": b"x\n" * 7000}, "more than 12288 bytes"),
    ({"metadata": {"finalizers": ["example.com/never"]}}, "few labels and annotations"),
    ({"metadata": {"annotations": {"a": "x" * 2000}}}, "few labels and annotations"),
)


async def test_the_process_asks_for_nothing_but_what_it_needs(backend: Backend) -> None:
    await backend.create(shapes=[CPU])
    await eventually(lambda: may_tell(backend, CPU))
    for change, message in EXCESSIVE:
        body = build_request(Wish(backend.name, f"{backend.name}-cpu", "client"), new_key())
        # What comes before a request in PEM does not count.
        text = change.get("preamble", b"") + base64.b64decode(body["spec"]["request"])
        body["spec"] |= {"request": base64.b64encode(text).decode()} | change.get("spec", {})
        body["metadata"] |= change.get("metadata", {})
        with pytest.raises(Forbidden, match=message):
            await backend.own.create(kinds.CERTIFICATE_REQUEST, body)


async def test_the_certificates_that_the_process_asks_for_are_issued(backend: Backend) -> None:
    await start(backend, CPU, GPU)
    node = f"{backend.name}-gpu"
    client = await backend.ask(Wish(backend.name, node, "client"))
    found = x509.load_pem_x509_certificate(base64.b64decode(client["status"]["certificate"]))
    subject = {item.oid: item.value for item in found.subject}
    assert subject == {NameOID.ORGANIZATION_NAME: "system:nodes", NameOID.COMMON_NAME: f"system:node:{node}"}
    serving = await backend.ask(Wish(backend.name, node, "serving", ADDRESS))
    issued = x509.load_pem_x509_certificate(base64.b64decode(serving["status"]["certificate"]))
    names = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address(ADDRESS)]


async def test_other_certificates_are_denied(backend: Backend, other: Backend) -> None:
    await start(backend, CPU)
    await start(other, CPU)
    denied = await other.ask(Wish(other.name, f"{backend.name}-cpu", "client"))
    assert answer_of(denied) == ("Denied", f"node '{backend.name}-cpu' does not belong to backend '{other.name}'")
    # The label says whose it is, but what counts is who asks.
    denied = await other.ask(Wish(backend.name, f"{backend.name}-cpu", "client"))
    assert answer_of(denied)[0] == "Denied"
    denied = await backend.ask(Wish(backend.name, f"{backend.name}-cpu", "client"), usages=["digital signature", "server auth"])
    assert answer_of(denied) == ("Denied", "a client certificate is not for digital signature, server auth")


async def bind(api: Api, name: str, namespace: str, node: str | None) -> Object:
    """A pod that runs on a node, or on none yet."""
    await exists(api, kinds.SERVICE_ACCOUNT, "default", namespace)
    container = {"name": "a", "image": "x"}
    body: Object = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1} | ({"nodeName": node} if node else {}),
    }
    pod = await api.create(kinds.POD, body)
    await api.patch(kinds.POD, name, namespace, {"status": {"phase": "Running"}}, subresource="status")
    return pod


@pytest.mark.slow
async def test_a_backend_that_is_deleted_leaves_no_node_and_no_process(backend: Backend, api: Api, namespace: str) -> None:
    """Its pods end although nobody confirms it, within the limit; and whatever may be left is named."""
    await start(backend, CPU)
    made = await api.get(kinds.OVERFLOW_BACKEND, backend.name)
    pod = await bind(api, "stuck", namespace, f"{backend.name}-cpu")
    await bind(api, "elsewhere", namespace, None)
    await api.delete(kinds.OVERFLOW_BACKEND, backend.name)
    await gone(api, kinds.OVERFLOW_BACKEND, backend.name, "")
    assert await api.list(kinds.NODE, labels=backend.selector) == []
    assert await api.find(kinds.POD, "stuck", namespace) is None
    assert await api.find(kinds.POD, "elsewhere", namespace) is not None
    events = await api.list(kinds.EVENT, "default", fields=f"involvedObject.uid={made['metadata']['uid']}")
    said = {item["reason"]: item["message"] for item in events}
    assert f"{namespace}/stuck ({pod['metadata']['uid']})" in said["PodsLeftBehind"]
    for kind in (kinds.DEPLOYMENT, kinds.SERVICE_ACCOUNT, kinds.ROLE, kinds.ROLE_BINDING, kinds.NETWORK_POLICY):
        await gone(api, kind, f"vnode-{backend.name}", SYSTEM)
    await gone(api, kinds.CLUSTER_ROLE_BINDING, f"vnode-{backend.name}", "")


async def test_a_node_that_somebody_deletes_is_made_again(backend: Backend, api: Api) -> None:
    await start(backend, CPU)
    before = await backend.wait_for_node(f"{backend.name}-cpu")
    await api.delete(kinds.NODE, f"{backend.name}-cpu")
    await another(api, kinds.NODE, f"{backend.name}-cpu", "", than=before)


async def test_a_backend_made_again_at_once_gets_a_process_of_its_own(backend: Backend, api: Api) -> None:
    await start(backend, CPU)
    await api.delete(kinds.OVERFLOW_BACKEND, backend.name)
    await gone(api, kinds.OVERFLOW_BACKEND, backend.name, "")
    made = await backend.create()

    def is_its_own(found: Object | None) -> bool:
        owners = (found or {}).get("metadata", {}).get("ownerReferences", [])
        return [item["uid"] for item in owners] == [made["metadata"]["uid"]]

    for kind in (kinds.DEPLOYMENT, kinds.SERVICE_ACCOUNT, kinds.ROLE, kinds.ROLE_BINDING):
        await wait_for(api, kind, f"vnode-{backend.name}", SYSTEM, is_its_own)
