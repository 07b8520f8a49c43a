"""The chart: what helm renders is what the API server takes, and its roles have no wildcard."""

import pytest

from nestor.api import labels
from nestor.api.class_choice import find_default
from nestor.api.objects import Object
from nestor.clients.portal import parse as parse_portal
from nestor.cluster.shape import HostDns
from nestor.kube import Api, Forbidden, Kind, kinds
from nestor.operator.settings import read_dns, read_versions
from tests.integration import apiserver
from tests.integration.chart import helm, render
from tests.integration.operator.conftest import ACCOUNT
from tests.unit.operator.builders import build_shape
from tests.waiting import eventually

_GROUP = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMA = Kind(_GROUP, "v1", "flowschemas", "FlowSchema", namespaced=False)
PRIORITY_LEVEL = Kind(_GROUP, "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", namespaced=False)


OF_OPERATOR = {"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"}
PORTAL = [
    "--set", "image.repository=x", "--set", "portal.enabled=true", "--set", "portal.host=nestor.example.com",
    "--set-json", 'portal.users=["jane"]', "--set-json", 'portal.proxy={"image":"registry.test/proxy:1"}',
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "image.repository"),
        (["--set", "image.repository=x", "--set", "defaultClass.expose.prt=80"], "prt"),
        (["--set", "image.repository=x", "--set", "operator.logLevel=loud"], "logLevel"),
        ([*PORTAL, "--set-json", "portal.users=[]"], "portal.users is required"),
        ([*PORTAL, "--set-json", "portal.proxy={}"], "portal.proxy is required"),
        ([*PORTAL, "--set", "portal.host="], "portal.host is required"),
        ([*PORTAL, "--set-json", 'portal.groups=["system:masters"]'], "begins with 'system:'"),
        ([*PORTAL, "--set-json", 'portal.users=["jane","system:admin"]'], "begins with 'system:'"),
        ([*PORTAL, "--set-json", 'portal.groups=["*"]'], "must be lists of names"),
        ([*PORTAL, "--set-json", 'portal.users=["*"]', "--set", "portal.constrained=true"], "must be lists of names"),
    ],
)
async def test_wrong_values_are_refused(arguments: list[str], message: str) -> None:
    code, output = await helm(*arguments)
    assert code != 0
    assert message in output


async def test_the_default_class_is_taken_by_the_api_server(plane: apiserver.ControlPlane, api: Api) -> None:
    documents = await render(
        "--set",
        "defaultClass.expose.domain=apps.example.com",
        "--set",
        "defaultClass.expose.port=8443",
        "--set-json",
        'defaultClass.expose.from=["10.0.0.0/24"]',
        "--set-json",
        'defaultClass.namespace={"podSecurity":"Baseline","quota":{"requests.cpu":4}}',
        "--set-json",
        'defaultClass.network={"internet":"None"}',
    )
    (found,) = [item for item in documents if item["kind"] == "NestedClass"]
    found["metadata"]["name"] = "from-chart"
    assert find_default([found, {"metadata": {"name": "default"}}]) == "from-chart", "`kubectl get nclass` shows it, too"
    applied = await api.apply(kinds.NESTED_CLASS, found)
    assert applied["spec"]["expose"]["domain"] == "apps.example.com"
    assert "unenforced" not in applied["spec"]["network"], "that is for the profile to say"
    await api.delete(kinds.NESTED_CLASS, "from-chart")


async def render_operator(*arguments: str) -> tuple[Object, dict[str, str]]:
    """The operator's container, and what it is told."""
    (deployment,) = [item for item in await render(*arguments) if item["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container, {item["name"]: item.get("value") for item in container["env"]}


async def test_the_operator_is_told_of_the_images_of_nested_clusters() -> None:
    _, variables = await render_operator()
    assert read_versions(variables["NESTOR_K3S_VERSIONS"])["v1.36"].startswith("docker.io/rancher/k3s:v1.36.")
    assert variables["NESTOR_CORE_DNS_IMAGE"].startswith("docker.io/coredns/coredns:")


@pytest.mark.parametrize(("profile", "is_privileged"), [("Tenants", False), ("Evaluation", False), ("Trusted", True)])
async def test_the_operator_may_make_privileged_namespaces_if_the_default_class_is_for_trusted_people(
    profile: str, is_privileged: bool
) -> None:
    rendered = await render("--set", f"defaultClass.profile={profile}")
    (policy,) = [
        item for item in rendered if item["metadata"]["name"] == "nestor-operator-namespaces" and "validations" in item["spec"]
    ]
    assert any("'privileged'" in item["expression"] for item in policy["spec"]["validations"]) is is_privileged


@pytest.mark.parametrize(
    ("arguments", "is_there"),
    [
        ([], False),
        (["--api-versions", "cilium.io/v2/CiliumClusterwideNetworkPolicy"], True),
        (["--set", "operator.cilium=true"], True),
        (["--set", "operator.cilium=false", "--api-versions", "cilium.io/v2/CiliumClusterwideNetworkPolicy"], False),
    ],
)
async def test_servers_reach_the_api_server_where_cilium_knows_no_addresses(arguments: list[str], is_there: bool) -> None:
    found = [item for item in await render(*arguments) if item["apiVersion"] == "cilium.io/v2"]
    assert len(found) == is_there
    for policy in found:
        selected = policy["spec"]["endpointSelector"]["matchLabels"]
        shape = build_shape()
        assert selected.items() <= (shape.labels | shape.pod_labels(labels.COMPONENT_SERVER)).items()
        assert policy["spec"]["egress"] == [{"toEntities": ["kube-apiserver"]}]


async def test_the_operator_is_told_where_the_hosts_dns_listens() -> None:
    said = '{"namespaces":["openshift-dns"],"ports":[53,5353],"ranges":[]}'
    _, variables = await render_operator("--set-json", f"operator.dns={said}")
    assert read_dns(variables["NESTOR_DNS"]) == HostDns(("openshift-dns",), (53, 5353), ())
    assert variables["NESTOR_NETWORK_PROBE"] == "true"


async def test_hosts_of_jobs_are_reserved_unless_an_admin_says_otherwise() -> None:
    def find(documents: list[Object]) -> set[str]:
        return {item["kind"] for item in documents if item["metadata"]["name"] == "nestor-hosts"}

    assert find(await render()) == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert not find(await render("--set", "hosts.reserved=false"))


async def test_roles_name_all_that_they_give_and_to_users_of_a_namespace_no_status_and_no_applications() -> None:
    """What a class allows pods is in a status; and what admins of namespaces have is theirs for all of the cluster, too."""
    roles = [item for item in await render() if item["kind"] == "ClusterRole"]
    assert {item["metadata"]["name"] for item in roles} >= {"nestor-operator", "nestor-syncer", "nestor-syncer-nodes"}
    for role in roles:
        is_of_users = any("aggregate-to" in key for key in role["metadata"].get("labels", {}))
        for entry in role["rules"]:
            assert "*" not in entry["apiGroups"] + entry["resources"] + entry["verbs"]
            assert "nodes/proxy" not in entry["resources"]
            if is_of_users:
                assert not [name for name in entry["resources"] if "/" in name]
                assert "nestedapps" not in entry["resources"] or set(entry["verbs"]) == {"get", "list", "watch"}


async def test_the_portal_is_off_and_may_only_impersonate_those_who_are_listed() -> None:
    assert not [item for item in await render() if "portal" in item["metadata"]["name"]]
    groups = ["--set-json", 'portal.groups=["team-a"]']
    documents = await render(*PORTAL[2:], *groups, "--kube-version", "1.35.0")
    found = {item["kind"]: item for item in documents if item["metadata"]["name"] == "nestor-portal"}
    assert set(found) == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment", "Service"}
    assert found["ClusterRole"]["rules"] == [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["jane"]},
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["team-a"]},
    ]
    constrained = await render(*PORTAL[2:], *groups, "--kube-version", "1.36.1")
    (role,) = [item for item in constrained if item["kind"] == "ClusterRole" and item["metadata"]["name"] == "nestor-portal"]
    verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
    assert "impersonate" not in verbs
    assert {verb.rpartition(":")[0] for verb in verbs} == {"impersonate", "impersonate-on:user-info"}
    assert [rule["resourceNames"] for rule in role["rules"][:2]] == [["jane"], ["team-a"]]
    spec = found["Deployment"]["spec"]["template"]["spec"]
    portal, proxy = spec["containers"]
    read = parse_portal(portal["args"][1:])
    assert (read.host, read.scheme, read.groups) == ("nestor.example.com", "https", ("team-a",))
    assert spec["automountServiceAccountToken"] is False
    assert not proxy.get("volumeMounts"), "the proxy has no token"
    assert proxy["securityContext"]["readOnlyRootFilesystem"] is True
    labels_of_pod = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"].items() <= labels_of_pod.items()
    (operator,) = [item for item in documents if item["kind"] == "Deployment" and item["metadata"]["name"] == "nestor"]
    assert not operator["spec"]["selector"]["matchLabels"].items() <= labels_of_pod.items()


async def test_all_users_read_the_catalog_and_its_keepers_write_it(plane: apiserver.ControlPlane, api: Api) -> None:
    body = {"metadata": {"name": "from-keeper"}, "spec": {"image": "a:1"}}
    (role,) = [item for item in await render() if item["metadata"]["name"] == "nestor-catalog-edit"]
    await api.apply(kinds.CLUSTER_ROLE, role)
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    await api.apply(
        kinds.CLUSTER_ROLE_BINDING,
        {
            "metadata": {"name": "keepers"},
            "roleRef": {**group, "kind": "ClusterRole", "name": "nestor-catalog-edit"},
            "subjects": [{**group, "kind": "User", "name": "keeper"}],
        },
    )
    async with await Api.connect(str(plane.kubeconfig_of("anybody"))) as anybody:
        await anybody.list(kinds.NESTED_APP)
        await anybody.list(kinds.NESTED_CLASS)
        with pytest.raises(Forbidden):
            await anybody.apply(kinds.NESTED_APP, body)
    async with await Api.connect(str(plane.kubeconfig_of("keeper"))) as keeper:
        await keeper.apply(kinds.NESTED_APP, body)
        with pytest.raises(Forbidden):
            await keeper.apply(kinds.NESTED_CLASS, {"metadata": {"name": "mine"}, "spec": {}})
        await keeper.delete(kinds.NESTED_APP, "from-keeper")


async def test_the_catalog_may_be_closed() -> None:
    documents = await render("--set-json", "catalog.readers=[]")
    assert "nestor-catalog-view" not in [item["metadata"]["name"] for item in documents]


async def test_the_operator_is_one_hardened_bounded_and_probed(plane: apiserver.ControlPlane, api: Api) -> None:
    (deployment,) = [item for item in await render() if item["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"]["type"] == "RollingUpdate"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)
    assert set(container["resources"]) == {"requests", "limits"}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    deployment["metadata"]["namespace"] = "default"
    await api.apply(kinds.DEPLOYMENT, deployment)
    await api.delete(kinds.DEPLOYMENT, deployment["metadata"]["name"], "default")


async def test_the_operators_requests_wait_behind_no_jobs(plane: apiserver.ControlPlane, api: Api) -> None:
    made = {
        item["metadata"]["name"]: await api.apply(FLOW_SCHEMA, item) for item in await render() if item["kind"] == "FlowSchema"
    }
    meta = {"name": "nestor-operator", "namespace": "nestor-system"}
    await api.apply(kinds.LEASE, {"metadata": meta})
    jobs, lease = kinds.NESTED_APP_JOB.path(None), kinds.LEASE.path("nestor-system", "nestor-operator")
    cases = (("nestor-lease", "leader-election", lease), ("nestor-operator", "workload-high", jobs))
    async with await Api.connect(str(plane.kubeconfig_of(ACCOUNT))) as operator:
        for name, level, path in cases:
            expected = made[name]["metadata"]["uid"], (await api.get(PRIORITY_LEVEL, level))["metadata"]["uid"]

            async def is_served(path: str = path, expected: tuple[str, str] = expected) -> bool:
                return await _find_flow(operator, path) == expected

            await eventually(is_served)
    others = "system:serviceaccount:nestor-team-a-hello-1234:hello-k3s"
    async with await Api.connect(str(plane.kubeconfig_of(others))) as syncer:
        assert (await _find_flow(syncer, "/version"))[0] not in {item["metadata"]["uid"] for item in made.values()}


async def _find_flow(client: Api, path: str) -> tuple[str, str]:
    """The FlowSchema and the priority level by which the API server has served a request."""
    async with client.open("GET", path) as answer:
        return answer.headers["X-Kubernetes-PF-FlowSchema-UID"], answer.headers["X-Kubernetes-PF-PriorityLevel-UID"]


async def test_the_operator_has_a_priority_wherever_a_quota_is_needed_for_it(plane: apiserver.ControlPlane, api: Api) -> None:
    for name, has_quota in (("system-cluster-critical", True), ("high", False), ("", False)):
        found = {item["kind"]: item for item in await render("--set", f"operator.priorityClassName={name}")}
        assert found["Deployment"]["spec"]["template"]["spec"].get("priorityClassName", "") == name
        assert ("ResourceQuota" in found) is has_quota
        if has_quota:
            (rule,) = (await api.apply(kinds.RESOURCE_QUOTA, found["ResourceQuota"]))["spec"]["scopeSelector"]["matchExpressions"]
            assert rule["values"] == [name]


async def test_nobody_connects_to_the_operator_unless_the_chart_is_told_so(plane: apiserver.ControlPlane, api: Api) -> None:
    documents = await render()
    (policy,) = [item for item in documents if item["kind"] == "NetworkPolicy"]
    (deployment,) = [item for item in documents if item["kind"] == "Deployment"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert not policy["spec"].get("ingress")
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    assert selected <= deployment["spec"]["template"]["metadata"]["labels"].items()
    policy["metadata"]["namespace"] = "default"
    await api.apply(kinds.NETWORK_POLICY, policy)
    await api.delete(kinds.NETWORK_POLICY, policy["metadata"]["name"], "default")
    assert not [item for item in await render("--set", "operator.networkPolicy=false") if item["kind"] == "NetworkPolicy"]


async def test_names_labels_and_variables_are_the_admins_and_accounts_are_not() -> None:
    """The policies name the accounts."""
    given = ("--set", "fullnameOverride=jobs", "--set", "commonLabels.team=a", "--set", "operator.podLabels.zone=b")
    more = ("--set-json", 'operator.extraEnv=[{"name":"X","value":"1"}]')
    documents = await render(*given, *more, "--set", "metrics.enabled=true", "--set", "operator.replicas=2")
    assert all(item["metadata"]["labels"]["team"] == "a" for item in documents)
    inside = {(item["kind"], item["metadata"]["name"]) for item in documents if item["kind"] in OF_OPERATOR}
    assert inside == {*((kind, "jobs") for kind in OF_OPERATOR - {"Service"}), ("Service", "jobs-metrics")}
    (deployment,) = [item for item in documents if item["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    assert {"team": "a", "zone": "b", "app.kubernetes.io/name": "nestor"}.items() <= template["metadata"]["labels"].items()
    assert template["spec"]["containers"][0]["env"][-1] == {"name": "X", "value": "1"}
    assert template["spec"]["serviceAccountName"] == "nestor"


async def test_without_a_default_class_there_is_none() -> None:
    assert not [item for item in await render("--set", "defaultClass.create=false") if item["kind"] == "NestedClass"]


async def test_a_pinned_image_is_used_everywhere() -> None:
    digest = f"sha256:{'a' * 64}"
    container, variables = await render_operator("--set", f"image.digest={digest}")
    passed_on = variables["NESTOR_IMAGE"]
    assert container["image"] == passed_on
    assert passed_on.startswith("registry.test/nestor:")
    assert passed_on.endswith(f"@{digest}")


async def test_another_image_for_runners_is_passed_on() -> None:
    for arguments, image in (([], ""), (["--set", "image.runner=registry.test/whole:1"], "registry.test/whole:1")):
        container, variables = await render_operator(*arguments)
        assert container["image"].startswith("registry.test/nestor:")
        assert variables["NESTOR_RUNNER_IMAGE"] == image
    code, output = await helm("--set", "image.repository=x", "--set", "image.runner=registry.test/whole")
    assert (code != 0, "runner" in output) == (True, True)


async def test_the_pull_policy_is_passed_on() -> None:
    container, variables = await render_operator("--set", "image.pullPolicy=Always")
    assert container["imagePullPolicy"] == variables["NESTOR_IMAGE_PULL_POLICY"] == "Always"
