"""What the chart's roles allow. The syncer's are held against its code by `tests/unit/syncer/test_parts.py`.

The operator's is held against the requests that it sends (`tests/golden/requests/operator`), its caches, and the few rights that
neither shows. The operator of the integration tests has this role, so that whatever it lacks fails there.
"""

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, cast

import yaml

from nestor.api.contracts import vnode
from nestor.cluster.home import Home, build_nodes_binding, build_role_binding
from nestor.cluster.shape import Host
from nestor.kube import Api, Kind, kinds
from nestor.operator.backends.process import build_process
from nestor.operator.settings import Settings
from nestor.operator.wiring import Operator
from nestor.operator.world.context import Cache, Context
from nestor.syncer.copies.rows import snapshots
from tests.unit.operator.backends.builders import build_spec

ROOT = Path(__file__).parents[2]
BACKEND = {"metadata": {"name": "link", "uid": "u"}}
PROCESS = build_process(
    BACKEND, build_spec(interlink={"url": "https://a", "tokenRef": {"name": "a", "key": "token"}}), Settings(image="x")
)
HOME = Home(name="hello", namespace="home", labels={})
TEMPLATE = ROOT / "charts/nestor/templates/rbac.yaml"
SYNCER_POLICY = TEMPLATE.with_name("syncer-policy.yaml")
GOLDEN = ROOT / "tests/golden/requests/operator"

Rights = dict[str, set[str]]


def read_documents(template: Path) -> list[dict[str, Any]]:
    """The objects of a template of the chart. Lines that helm fills in are none of them."""
    return list(yaml.safe_load_all("\n".join(line for line in template.read_text().splitlines() if "{{" not in line)))


def read_rules(role: str, kind: str = "ClusterRole", template: Path = TEMPLATE) -> list[dict[str, Any]]:
    (found,) = [item for item in read_documents(template) if item["kind"] == kind and item["metadata"]["name"] == role]
    rules: list[dict[str, Any]] = found["rules"]
    return rules


def read_verbs(role: str, kind: str = "ClusterRole", template: Path = TEMPLATE) -> Rights:
    """What a role of the chart allows on all objects, by resource and group: `pods/log`, `ingresses.networking.k8s.io`."""
    verbs: Rights = {}
    for rule in read_rules(role, kind, template):
        names = [] if "resourceNames" in rule else product(rule["resources"], rule["apiGroups"])
        for resource, group in names:
            verbs.setdefault(name_resource(resource, group), set()).update(rule["verbs"])
    return verbs


def name_resource(resource: str, group: str | None) -> str:
    """As in `kubectl get`: the plural, and the group if there is one."""
    return f"{resource}.{group}" if group else resource


def test_whatever_a_syncer_may_write_has_a_wall() -> None:
    """Rights alone would let whoever stole its token write any object of that kind in the job's namespace."""
    policies = [item["spec"] for item in read_documents(SYNCER_POLICY) if item["kind"] == "ValidatingAdmissionPolicy"]
    rules = [rule for policy in policies for rule in policy["matchConstraints"]["resourceRules"]]
    walls = {name_resource(*pair) for rule in rules for pair in product(rule["resources"], rule["apiGroups"])}
    written = {
        resource for resource, verbs in read_verbs("nestor-syncer").items() if verbs & {"create", "patch", "update", "delete"}
    }
    streams = {"pods/exec", "pods/attach", "pods/portforward"}
    assert written - streams == walls, "what is in rbac.yaml is in a policy of syncer-policy.yaml, too"


_REQUEST = re.compile(
    r"(?P<verb>[A-Z]+) host /(?:api|apis/(?P<group>[^/]+))/v[^/]+/(?:namespaces/[^/]+/(?=[^/]))?(?P<plural>[a-z]+)"
    r"(?:/(?P<name>[^/?]+))?(?:/(?P<rest>[^?]+))?(?:\?.*)?"
)
_VERBS = {"POST": ["create"], "PATCH": ["patch"], "PUT": ["update"], "DELETE": ["delete"]}


def find_used() -> Rights:
    """The rights that the operator's recorded requests take (tests/integration/requests/lines.py)."""
    files = sorted(GOLDEN.glob("*.txt"))
    assert len(files) >= 3
    lines = [line for file in files for line in file.read_text().splitlines() if line and not line.startswith("# ")]
    used: Rights = {}
    for line in lines:
        found = _REQUEST.fullmatch(re.split(": | -> ", re.sub(r"<[^>]*>", "x", line))[0])
        assert found is not None, line
        plural = f"{found['plural']}/{found['rest']}" if found["rest"] else found["plural"]
        used.setdefault(name_resource(plural, found["group"]), set()).update(_find_verbs(found))
    return used


def _find_verbs(found: re.Match[str]) -> list[str]:
    if found["verb"] == "GET":
        return ["get" if found["name"] else "list"]
    if found["verb"] == "APPLY":  # creates what is not there yet
        return ["patch"] if found["rest"] else ["patch", "create"]
    if found["verb"] == "DELETE" and not found["name"]:
        return ["deletecollection"]
    return _VERBS[found["verb"]]


def find_watched(*, own: bool = False) -> Iterable[Kind]:
    """What the operator has caches of; `own`: of its own namespace alone."""
    api = cast(Api, None)
    operator = Operator(Context.create(api, Settings(image="x"), Cache(api), Host(())))
    found = operator.cache.informers
    return [kind for kind in found if found[kind].namespace] if own else [kind for kind in found if not found[kind].namespace]


SELDOM: Rights = {
    # Refused jobs that a class drops.
    "nestedappjobs.nestor.dev": {"delete"},
    # What the catalog says.
    "nestedapps/status.nestor.dev": {"patch"},
    # When a job is deleted whose class lets its volumes stay, when a restart deletes its data, and when a later job gets them.
    "persistentvolumeclaims": {"create", "delete"},
    "persistentvolumes": {"get", "list", "patch"},
    "volumesnapshotcontents.snapshot.storage.k8s.io": {"get", "list", "patch"},
    "volumesnapshots.snapshot.storage.k8s.io": {"list", "delete"},
    # Once at the start, before anything is recorded.
    "servicecidrs.networking.k8s.io": {"get"},
    # The opening of a target that is exposed no more.
    "networkpolicies.networking.k8s.io": {"delete"},
    # Where a class names a Gateway.
    "httproutes.gateway.networking.k8s.io": {"create", "patch", "delete"},
    # For jobs that are asleep.
    "endpointslices.discovery.k8s.io": {"create", "patch", "delete"},
    # Not before a shape has been gone for a minute.
    "pods/eviction": {"create"},
    # Only where the chart names a Lease; `get` and `update` are of that one alone.
    "leases.coordination.k8s.io": {"create"},
    # kopf looks up the definitions of its resources.
    "customresourcedefinitions.apiextensions.k8s.io": {"list", "watch"},
}
"""Rights that no recorded scenario takes. That the operator needs them, the integration tests show, in which it has this role."""


def test_the_operator_may_do_exactly_what_it_does() -> None:
    needed = find_used()
    for kind in find_watched():
        needed.setdefault(name_resource(kind.plural, kind.group), set()).update(("list", "watch"))
    for resource, verbs in SELDOM.items():
        assert not verbs & needed.get(resource, set()), f"{resource} is recorded"
        needed.setdefault(resource, set()).update(verbs)
    own = read_verbs("nestor-operator", "Role")
    for kind in find_watched(own=True):
        needed[name_resource(kind.plural, kind.group)] |= {"list", "watch"}
    assert {resource: needed.pop(resource) for resource in own} == own
    assert read_verbs("nestor-operator") == needed


KUEUE: Rights = {
    "workloads.kueue.x-k8s.io": {"list", "watch", "create", "patch", "delete"},
    "workloads/status.kueue.x-k8s.io": {"patch"},
    "resourceflavors.kueue.x-k8s.io": {"get"},
    "workloadpriorityclasses.kueue.x-k8s.io": {"get"},
}


def test_with_kueue_the_operator_may_do_what_it_does_and_without_it_nothing() -> None:
    assert read_verbs("nestor-kueue", template=TEMPLATE.with_name("kueue.yaml")) == KUEUE
    assert not any("kueue" in resource for resource in read_verbs("nestor-operator"))
    assert TEMPLATE.with_name("kueue.yaml").read_text().startswith("{{- if .Values.kueue.enabled }}")


def test_the_operator_may_bind_the_roles_that_it_binds_and_no_others() -> None:
    bound = [body["roleRef"] for kind, body in PROCESS if kind is kinds.CLUSTER_ROLE_BINDING]
    bound += [build_role_binding(HOME)["roleRef"], build_nodes_binding(HOME)["roleRef"]]
    named = {rule["resources"][0]: rule for rule in read_rules("nestor-operator") if "resourceNames" in rule}
    assert [(rule["resources"], rule["verbs"]) for rule in named.values()] == [
        (["signers"], ["approve"]),
        (["clusterroles"], ["bind"]),
    ]
    assert set(named["clusterroles"]["resourceNames"]) == {role["name"] for role in bound}


def test_a_syncer_may_read_the_definitions_of_snapshots_and_no_others() -> None:
    (named,) = [rule for rule in read_rules("nestor-syncer-nodes") if "resourceNames" in rule]
    assert (named["resources"], named["verbs"]) == (["customresourcedefinitions"], ["get"])
    assert set(named["resourceNames"]) == {f"{kind.plural}.{kind.group}" for kind in snapshots.KINDS}
    assert not [rule for rule in read_rules("nestor-syncer") if "resourceNames" in rule]


def test_the_operator_approves_for_no_other_signers_than_its_decision_knows() -> None:
    (rule,) = [rule for rule in read_rules("nestor-operator") if rule["resources"] == ["signers"]]
    assert set(rule["resourceNames"]) == {vnode.CLIENT_SIGNER, vnode.SERVING_SIGNER}


def test_the_operator_has_itself_what_it_gives_to_the_process_of_a_backend() -> None:
    """Otherwise the API server would refuse the Role."""
    (role,) = [body for kind, body in PROCESS if kind is kinds.ROLE]
    given = {resource: set(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}
    assert given == {"secrets": {"get"}}
    assert given["secrets"] <= read_verbs("nestor-operator")["secrets"]


def test_the_process_of_a_backend_writes_nothing_but_its_status_and_requests() -> None:
    writing = {name: verbs - {"get", "list", "watch"} for name, verbs in read_verbs("nestor-vnode").items()}
    assert {name: verbs for name, verbs in writing.items() if verbs} == {
        "overflowbackends/status.nestor.dev": {"patch"},
        "certificatesigningrequests.certificates.k8s.io": {"create"},
    }
    (named,) = [rule for rule in read_rules("nestor-vnode") if "resourceNames" in rule]
    assert (named["resources"], named["resourceNames"]) == (["configmaps"], [vnode.AUTHENTICATION_CONFIG_MAP])
    assert "secrets" not in read_verbs("nestor-vnode")


def test_users_may_look_at_clusters_and_write_none() -> None:
    template = TEMPLATE.with_name("user-roles.yaml")
    text = "\n".join(line for line in template.read_text().splitlines() if "{{" not in line)
    for role in (item for item in yaml.safe_load_all(text) if item["kind"] == "ClusterRole"):
        for rule in role["rules"]:
            assert "nestedclusters" not in rule["resources"] or rule["verbs"] == ["get", "list", "watch"], role["metadata"][
                "name"
            ]


def test_no_role_has_a_wildcard_or_rights_beside_resources() -> None:
    for role in ("nestor-operator", "nestor-syncer", "nestor-syncer-nodes", "nestor-vnode"):
        for rule in read_rules(role):
            assert rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"}
            assert not any("*" in item for values in rule.values() for item in values), rule
