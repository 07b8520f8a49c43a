"""What the admin of a nested cluster reaches through its API server, whose proxies, webhooks and aggregated APIs go wherever they
are told: nothing that its pods do not reach.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Container
from pathlib import Path

import pytest
import yaml

from nestor.api import labels
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.kube import Api, ApiError, Kind, kinds
from tests.e2e import attacks
from tests.e2e.attack_script import is_refusal
from tests.e2e.conftest import IS_EMBEDDED, dump, kubectl, try_kubectl
from tests.e2e.isolation import FORGED_LABELS, Arena, Found, Side, run_script
from tests.waiting import eventually

pytestmark = [
    pytest.mark.xdist_group("isolation"),
    pytest.mark.skipif(not IS_EMBEDDED, reason="stand-ins for clouds need routes on the nodes"),
]

PATIENCE = 300.0
"""Seconds until the nested API server may have taken in what an attempt needs, while the machine is busy."""
FORGED = "forged"
"""The namespace of what is forged."""
SECONDS = 5.0
"""For one answer; what is open answers at once."""
NOT_ASKED = ("address not allowed", "no endpoints available")
"""What the API server says about where it connects to for nobody."""
REACHED = ("server gave HTTP response to HTTPS client", "x509", "tls:", "certificate", "404", "the server could not find")
"""What is said about a server that answers, but not as a webhook or an API would."""
WEBHOOK = Kind("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False)


class Forger:
    """Admin of one nested cluster; each method makes an attempt and says what became of it, as in `attack_script`. One that
    is `unknown` is made again, until it has a verdict or `PATIENCE` is over.
    """

    def __init__(self, side: Side, nested: Api) -> None:
        self.side = side
        self._api = nested

    async def by_pod(self, name: str, address: str, port: int, path: str = "", scheme: str = "http") -> Object:
        """The pod proxy, with a pod that says that it has this address. No syncer carries a pod that the class refuses."""
        await kubectl(self.side.inside, "apply", "-f", "-", stdin=dump(_build_pod(name)))
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        await self._patch_status(f"/api/v1/namespaces/{FORGED}/pods/{name}", status)
        return await until_known(lambda: self._get(f"/api/v1/namespaces/{FORGED}/pods/{scheme}:{name}:{port}/proxy/{path}"))

    async def by_node(self, name: str, address: str, port: int) -> Object:
        """The node proxy, with a Node that says that it has this address."""
        await kubectl(
            self.side.inside, "apply", "-f", "-", stdin=dump({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        )
        addresses = [{"type": kind, "address": address} for kind in ("InternalDNS", "InternalIP")]
        try:
            await self._patch_status(f"/api/v1/nodes/{name}", {"addresses": addresses})
        except ApiError as error:
            return {"verdict": "refused", "said": f"the Node does not stay: {error}"}
        return await until_known(lambda: self._get(f"/api/v1/nodes/http:{name}:{port}/proxy/"))

    async def by_service(self, name: str, address: str, port: int) -> Object:
        """The Service proxy, which goes only to addresses of pods: that of the one that `by_pod` makes by this name."""
        pod = {"kind": "Pod", "namespace": FORGED, "name": name}
        await self.forge_service(name, address, port, target=pod)
        path = f"/api/v1/namespaces/{FORGED}/services/http:{name}:http/proxy/"

        async def proxied() -> Object:
            found = await self._get(path)
            return found | {"verdict": "unknown"} if "no endpoints available" in found["said"] else found

        return await until_known(proxied)

    async def by_webhook(self, name: str, client: Object) -> Object:
        """A webhook for the ConfigMaps of a namespace of its own."""
        hook = {
            "name": f"{name}.example.com",
            "clientConfig": client,
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 3,
        }
        config = {"apiVersion": WEBHOOK.api_version, "kind": WEBHOOK.name, "metadata": {"name": name}, "webhooks": [hook]}
        await kubectl(self.side.inside, "apply", "-f", "-", stdin=dump(config, _build_namespace(name)))

        async def refuse() -> Object:
            code, said = await try_kubectl(self.side.inside, "-n", name, "create", "configmap", "tried", "--dry-run=server")
            return _judge(said if code and "failed calling webhook" in said else "")

        return await until_known(refuse)

    async def by_api_service(self, name: str, address: str, port: int) -> Object:
        """An APIService, which the API server itself looks at again and again."""
        await self.forge_service(name, address, port)
        spec = {
            "group": f"{name}.example.com",
            "version": "v1",
            "service": {"namespace": FORGED, "name": name, "port": 80},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
        }
        meta = {"name": f"v1.{name}.example.com"}
        body = {"apiVersion": kinds.API_SERVICE.api_version, "kind": kinds.API_SERVICE.name, "metadata": meta, "spec": spec}
        await kubectl(self.side.inside, "apply", "-f", "-", stdin=dump(body))

        async def answered() -> Object:
            found = await self._api.get(kinds.API_SERVICE, meta["name"])
            said = [
                item["message"] for item in status_of(found).get("conditions") or () if item["reason"] == "FailedDiscoveryCheck"
            ]
            return _judge(said[0] if said else "")

        return await until_known(answered)

    async def forge_service(self, name: str, address: str, port: int, *, target: Object | None = None) -> None:
        """A Service without a selector, and endpoints in both forms; `target` is what they say that they are."""
        of = {"targetRef": target} if target else {}
        ports = [{"name": "http", "port": 80, "targetPort": port, "protocol": "TCP"}]
        meta = {"name": name, "namespace": FORGED}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": ports}}
        given = {"addresses": [{"ip": address, **of}], "ports": [{"name": "http", "port": port, "protocol": "TCP"}]}
        endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [given]}
        piece = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**meta, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}, **of}],
            "ports": given["ports"],
        }
        await kubectl(self.side.inside, "apply", "-f", "-", stdin=dump(service, endpoints, piece))

    async def _patch_status(self, path: str, status: Object) -> None:
        content = "application/merge-patch+json"
        await self._api.request("PATCH", f"{path}/status", None, {"status": status}, content_type=content)

    async def _get(self, path: str) -> Object:
        """An answer of the one that was proxied to; the API server's own complaints are none."""
        try:
            said = await self._api.request("GET", path, timeout=SECONDS)
        except ApiError as error:
            # Somebody else's answer: this admin may do anything here. What cannot be reached is 400, 404, or 500 and more.
            said = str(error)
            is_open, is_refused = error.status in (401, 403), is_refusal(said) or any(text in said for text in NOT_ASKED)
            return {"verdict": "open" if is_open else "refused" if is_refused else "unknown", "said": said}
        except (TimeoutError, OSError) as error:
            return {"verdict": "unknown", "said": f"no answer: {error!r}"}
        return {"verdict": "open", "said": str(said)}


def _build_pod(name: str) -> Object:
    spec = {"hostNetwork": True, "containers": [{"name": "main", "image": "nobody.example.com/runs:this"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": FORGED}, "spec": spec}


def _build_namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _judge(said: str) -> Object:
    """The verdict on what an API server complains of: about an answer, about a refusal, or about silence."""
    is_open = any(text in said for text in REACHED)
    return {"verdict": "open" if is_open else "refused" if is_refusal(said) else "unknown", "said": said}


async def until_known(attempt: Callable[[], Awaitable[Object]], wanted: Container[str] = ("open", "refused")) -> Object:
    """What becomes of an attempt, made until its verdict is a wanted one; else the last one, for the tests to tell."""
    found: Object = {}

    async def is_known() -> bool:
        found.update(await attempt())
        return found["verdict"] in wanted

    with contextlib.suppress(AssertionError):
        await eventually(is_known, PATIENCE)
    return found or {"verdict": "unknown", "said": f"nothing within {PATIENCE:.0f} s"}


async def until_open(attempt: Callable[[], Awaitable[Object]]) -> Object:
    """What becomes of an attempt that must succeed: the API server follows what it needs a moment late."""
    return await until_known(attempt, ("open",))


@contextlib.asynccontextmanager
async def forging(side: Side) -> AsyncIterator[Forger]:
    """An admin at work."""
    await kubectl(side.inside, "apply", "-f", "-", stdin=dump(_build_namespace(FORGED)))
    await kubectl(side.inside, "-n", FORGED, "wait", "--for=create", "serviceaccount/default")
    async with await Api.connect(str(side.inside)) as nested:
        yield Forger(side, nested)


@pytest.fixture(scope="module")
async def forger(arena: Arena) -> AsyncIterator[Forger]:
    """The admin of the attackers' cluster."""
    async with forging(arena.attacker) as made:
        yield made
    # Their own cluster's DNS knows strangers' addresses by forged names, which later tests would take for the host's.
    inside = arena.attacker.inside
    await kubectl(inside, "-n", FORGED, "delete", "services,endpoints,endpointslices", "--all")
    asked = [
        item for item in arena.list_attempts(attacks.NAMES, arena.attacker, arena.victim) if item["id"] == "ptr-of-stranger-pod"
    ]

    async def is_forgotten() -> bool:
        said = await run_script(inside, "default", "far", asked)
        return bool(said["ptr-of-stranger-pod"]["verdict"] == "refused")

    await eventually(is_forgotten, PATIENCE)


@pytest.fixture(scope="module")
async def found(arena: Arena, forger: Forger) -> Found:
    """What became of everything that goes through the API server, all at once."""
    facts, side = arena.facts_for(forger.side, arena.victim), forger.side
    home = spec_of(side.server)["nodeName"]
    other = facts["second" if home == facts["first_node"] else "first"]
    stranger, victim, operator = facts["stranger"], facts["victim"], facts["operator"]
    wire, own = attacks.METADATA["metadata-azure-wire"], side.address("far")
    behind = {"service": {"namespace": FORGED, "name": "hook", "port": 80, "path": "/"}}
    await forger.forge_service("hook", stranger, 8080)
    attempts: dict[str, Awaitable[Object]] = {
        "own-pod-proxy": until_open(lambda: forger.by_pod("own", own, 8080)),
        "own-service-proxy": until_open(lambda: forger.by_service("own", own, 8080)),
        "own-webhook": until_open(lambda: forger.by_webhook("hook-own", {"url": f"https://{own}:8080/"})),
        "own-apiservice": until_open(lambda: forger.by_api_service("api-own", own, 8080)),
        "pod-proxy-stranger": forger.by_pod("stranger", stranger, 8080),
        "pod-proxy-victim": forger.by_pod("victim", victim, 8080),
        "pod-proxy-victim-api": forger.by_pod("victim-api", facts["victim_server"], 6443, "version", "https"),
        "pod-proxy-operator": forger.by_pod("operator", operator, 8080, "healthz"),
        "pod-proxy-kubelet": forger.by_pod("kubelet", other, 10250, "pods", "https"),
        "pod-proxy-metadata": forger.by_pod("metadata", wire, 80),
        "pod-proxy-link-local": forger.by_pod("link-local", attacks.METADATA["metadata-aws-google-azure"], 80),
        "pod-proxy-private": forger.by_pod("private", attacks.PRIVATE, 80),
        "pod-proxy-host-api": forger.by_pod("host-api", facts["first"], int(facts["api_port"]), "api/v1/secrets", "https"),
        "node-proxy-stranger": forger.by_node("stranger", stranger, 8080),
        "node-proxy-victim": forger.by_node("victim", victim, 8080),
        "node-proxy-metadata": forger.by_node("metadata", wire, 80),
        "service-proxy-stranger": forger.by_service("stranger", stranger, 8080),
        "service-proxy-victim": forger.by_service("victim", victim, 8080),
        "service-proxy-operator": forger.by_service("operator", operator, 8080),
        "webhook-stranger": forger.by_webhook("hook-stranger", {"url": f"https://{stranger}:8080/"}),
        "webhook-victim": forger.by_webhook("hook-victim", {"url": f"https://{facts['victim_server']}:6443/"}),
        "webhook-kubelet": forger.by_webhook("hook-kubelet", {"url": f"https://{other}:10250/"}),
        "webhook-service": forger.by_webhook("hook-service", behind),
        "apiservice-stranger": forger.by_api_service("api-stranger", stranger, 8080),
    }
    return dict(zip(attempts, await asyncio.gather(*attempts.values()), strict=True))


THROUGH = [name for name in attacks.ADMIN if name.split("-")[0] in ("pod", "node", "service", "webhook", "apiservice")]
"""The attacks that go through the API server."""
APART = ("pod-proxy-api-host", "pod-proxy-host-api", "pod-proxy-internet")
"""Those that have a test of their own."""


@pytest.mark.parametrize("way", ["pod-proxy", "service-proxy", "webhook", "apiservice"])
async def test_the_ways_of_the_attacks_lead_to_the_clusters_own_pods(found: Found, way: str) -> None:
    assert found[f"own-{way}"]["verdict"] == "open", found


@pytest.mark.parametrize("attack", [name for name in THROUGH if name not in APART])
async def test_no_proxy_webhook_or_aggregated_api_leads_out(found: Found, attack: str) -> None:
    assert found[attack]["verdict"] == "refused", found[attack]


async def test_the_hosts_api_server_takes_a_nested_admin_for_nobody(found: Found) -> None:
    said = found["pod-proxy-host-api"]["said"]
    assert "401 " in said or ("403 " in said and "system:anonymous" in said) or is_refusal(said), said


async def test_no_proxy_leads_to_the_internet_where_the_class_allows_none(arena: Arena, forger: Forger) -> None:
    allowed = await until_open(lambda: forger.by_pod("internet", attacks.INTERNET, 80))
    assert allowed["verdict"] == "open", allowed
    async with forging(arena.victim) as closed:
        found = await closed.by_pod("internet", attacks.INTERNET, 80)
    assert found["verdict"] == "refused", found


async def test_no_proxy_leads_to_other_ports_of_the_api_servers_machine(arena: Arena) -> None:
    sides = (arena.attacker, arena.victim)
    away = [side for side in sides if spec_of(side.server)["nodeName"] != arena.facts["first_node"]]
    if not away:
        pytest.skip("both clusters run on that machine, from which Kubernetes closes no pod off")
    async with forging(away[0]) as forger:
        found = await forger.by_pod("api-host", arena.facts["first"], 5000, "v2/")
    assert found["verdict"] == "refused", found


async def test_forged_endpoints_do_not_reach_the_host(arena: Arena, found: Found) -> None:
    assert found["service-proxy-stranger"]
    slices = await arena.api.list(kinds.ENDPOINT_SLICE, arena.attacker.home)
    addresses = {address for item in slices for endpoint in item.get("endpoints") or () for address in endpoint["addresses"]}
    facts = arena.facts_for(arena.attacker, arena.victim)
    assert arena.attacker.address("far") in addresses
    assert not addresses & {facts[name] for name in ("stranger", "victim", "operator", "first", "second")}


async def show(folder: Path, kubeconfig: Object) -> tuple[int, str]:
    """List the namespaces of a cluster with these credentials, from this machine, which reaches all of their servers."""
    (folder / "config").write_text(json.dumps(kubeconfig))
    return await try_kubectl(folder / "config", "--request-timeout=10s", "get", "namespaces")


def build_kubeconfig(server: str, user: Object) -> Object:
    """Credentials for a server that nobody looks at closely."""
    cluster = {"server": server, "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
    }


def read_user(side: Side) -> Object:
    """The admin's own credentials."""
    user: Object = yaml.safe_load(side.inside.read_text())["users"][0]["user"]
    return user


async def test_the_admins_certificate_is_good_for_its_own_cluster(arena: Arena, tmp_path: Path) -> None:
    code, said = await show(tmp_path, build_kubeconfig(f"https://{arena.attacker.service('k3s')}", read_user(arena.attacker)))
    assert code == 0, said
    assert "kube-system" in said


@pytest.mark.parametrize("attack", ["token-at-host", "certificate-at-host", "certificate-at-victim"])
async def test_credentials_of_a_nested_cluster_are_worth_nothing_elsewhere(arena: Arena, tmp_path: Path, attack: str) -> None:
    user = read_user(arena.attacker)
    if attack.startswith("token"):
        user = {"token": (await kubectl(arena.attacker.inside, "create", "token", "default")).strip()}
    server = arena.victim.service("k3s") if attack.endswith("victim") else f"{arena.facts['first']}:{arena.facts['api_port']}"
    code, said = await show(tmp_path, build_kubeconfig(f"https://{server}", user))
    assert code != 0, said
    assert "Unauthorized" in said or "must be logged in" in said or "unknown certificate" in said, said


async def test_no_label_makes_a_pod_a_component(arena: Arena) -> None:
    for pod in arena.attacker.pods.values():
        own = labels_of(pod)
        assert own[labels.COMPONENT] == labels.COMPONENT_APP
        taken = {key for key, value in FORGED_LABELS.items() if own.get(key) == value}
        assert taken <= {labels.MANAGED_BY}, own


async def test_a_nested_policy_that_allows_everything_opens_nothing(arena: Arena) -> None:
    side, facts = arena.attacker, arena.facts_for(arena.attacker, arena.victim)
    assert "allow-all" in await kubectl(side.inside, "get", "networkpolicies", "-o", "name")
    wanted = [item for item in (*attacks.HOST, *attacks.VICTIM) if not item.node]
    found = await run_script(side.inside, "default", "far", [item.fill(facts) for item in wanted])
    assert {name: item for name, item in found.items() if item["verdict"] != "refused"} == {}
