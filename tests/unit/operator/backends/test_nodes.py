"""Which virtual nodes a backend has, and how they follow its spec and its shapes."""

import copy

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.api.overflowbackend import Shape
from nestor.operator.backends.nodes import ALWAYS, build_node, find_change, is_of, list_wanted
from tests.unit.operator.backends.builders import GPU, SHAPE, UID, build_backend, build_live, build_spec, want

TAINTS = [
    {"key": "virtual-kubelet.io/provider", "value": "link", "effect": "NoSchedule"},
    {"key": "virtual-kubelet.io/provider", "value": "link", "effect": "PreferNoSchedule"},
]


def merge(node: Object, patch: Object) -> Object:
    """What a merge patch makes of a node."""
    node = copy.deepcopy(node)
    for part, fields in patch.items():
        for key, value in fields.items():
            inner = value if isinstance(value, dict) else None
            target = node[part].setdefault(key, {}) if inner is not None else node[part]
            for name, item in (inner or {key: value}).items():
                target.pop(name, None) if item is None else target.update({name: item})
    return node


def mend(node: Object) -> Object:
    """What is changed of a node, which is as it should be then."""
    patch = find_change(node, want())
    assert patch is not None
    assert find_change(merge(node, patch), want()) is None
    return patch


def test_each_shape_is_a_node_with_what_it_is_known_by() -> None:
    found = list_wanted("link", build_spec(price=7), [Shape.model_validate(item) for item in (SHAPE, GPU)])
    assert list(found) == ["link", "link-gpu"]
    gpu = found["link-gpu"]
    assert gpu.labels == ALWAYS | {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "link-gpu",
        "type": "virtual-kubelet",
        "gpu-type": "a100",
        labels.MANAGED_BY: "nestor",
        labels.BACKEND: "link",
        labels.SHAPE: "gpu",
        labels.PRICE: "7",
    }
    assert [item.model_dump() for item in gpu.taints] == TAINTS


@pytest.mark.parametrize(
    ("node", "name", "own", "taints"),
    [
        # aksjobscheduler: selectors and the toleration of its pods.
        ({"labels": {"type": "virtual-kubelet", "beta.kubernetes.io/os": "linux", "kubernetes.io/role": "agent"}}, "azure",
         {"type": "virtual-kubelet", "beta.kubernetes.io/os": "linux", "kubernetes.io/role": "agent"},
         ["virtual-kubelet.io/provider=azure:NoSchedule", "virtual-kubelet.io/provider=azure:PreferNoSchedule"]),
        # NuNet: selected by its host name.
        ({"name": "nunet-node", "taints": [{"key": "virtual-node.interlink/no-schedule"}]}, "nunet-node",
         {"kubernetes.io/hostname": "nunet-node", "type": "virtual-kubelet"}, ["virtual-node.interlink/no-schedule=:NoSchedule"]),
        ({"labels": {}, "taints": []}, "azure", {"kubernetes.io/hostname": "azure"}, []),
    ],
)  # fmt: skip
def test_the_seeds_spellings(node: Object, name: str, own: dict[str, str], taints: list[str]) -> None:
    found = want(backend="azure", node=node)
    assert found.name == name
    assert found.labels.items() >= own.items()
    assert [f"{item.key}={item.value}:{item.effect}" for item in found.taints] == taints


KUBERNETES: Object = {"type": "Kubernetes", "interlink": None, "kubernetes": {"kubeconfigRef": {"name": "a", "key": "b"}}}


@pytest.mark.parametrize(
    ("spec", "own", "expected"),
    [
        ({}, {}, "amd64"),
        ({}, {"kubernetes.io/arch": "arm64"}, "arm64"),
        ({"node": {"labels": {"kubernetes.io/arch": "riscv64"}}}, {}, "riscv64"),
        # A cluster may have several, and tells what it has.
        (KUBERNETES, {"kubernetes.io/arch": "arm64"}, "arm64"),
        (KUBERNETES, {}, None),
    ],
)
def test_pods_that_ask_for_an_architecture_find_it(spec: Object, own: Object, expected: str | None) -> None:
    """Many charts do; the interLink protocol tells none."""
    assert want(SHAPE | {"labels": own}, **spec).labels.get("kubernetes.io/arch") == expected


HOSTILE: Object = {
    "name": "default",
    "capacity": {"cpu": "1"},
    "labels": {
        "nestor.dev/backend": "other",
        "node-role.kubernetes.io/control-plane": "",
        "node-restriction.kubernetes.io/team": "a",
        "no label": "x",
        "type": "fast",
        "topology.kubernetes.io/zone": "z1",
        "rack": "r1",
    },
    "taints": [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        {"key": "virtual-kubelet.io/provider", "value": "mine"},
        {"key": "busy"},
        {"key": "bad key!"},
    ],
}


def test_a_backend_may_not_say_everything_of_its_nodes() -> None:
    found = want(HOSTILE)
    assert found.labels.keys() == ALWAYS.keys() | {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "type",
        "topology.kubernetes.io/zone",
        "rack",
        labels.MANAGED_BY,
        labels.BACKEND,
        labels.SHAPE,
    }
    assert (found.labels["type"], found.labels[labels.BACKEND]) == ("virtual-kubelet", "link")
    assert [(item.key, item.value, item.effect) for item in found.taints] == [
        ("virtual-kubelet.io/provider", "link", "NoSchedule"),
        ("busy", "", "NoSchedule"),
        ("virtual-kubelet.io/provider", "link", "PreferNoSchedule"),
    ]


def test_an_admin_may_but_marks_stay_ours() -> None:
    own = HOSTILE | {"labels": {"node-role.kubernetes.io/agent": "", "type": "fast", labels.BACKEND: "other"}, "taints": []}
    found = want(own, shapes=[own])
    assert found.labels.items() >= {"node-role.kubernetes.io/agent": "", "type": "fast", labels.BACKEND: "link"}.items()


def test_a_new_node_belongs_to_its_backend_and_takes_no_pods_by_accident() -> None:
    backend = build_backend()
    node = build_node(backend, want())
    assert node["spec"]["taints"] == TAINTS
    assert node["spec"]["providerID"] == "nestor://link/default"
    assert node["metadata"]["ownerReferences"] == [
        {"apiVersion": "nestor.dev/v1alpha1", "kind": "OverflowBackend", "name": "link", "uid": UID}
    ]
    assert is_of(node, backend)
    assert not is_of(node, build_backend(uid="later"))
    assert not is_of(node, build_backend("other"))
    assert not is_of({"metadata": node["metadata"] | {"labels": {}}}, backend)


def test_what_others_added_stays_and_what_was_ours_goes() -> None:
    node = build_live(shape=GPU)
    node["metadata"]["labels"] |= {"team": "a"}
    node["spec"]["taints"] += [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        {"key": "mine", "effect": "NoExecute"},
    ]
    wanted = want({**GPU, "labels": {"gpu-type": "h100"}}, node={"labels": {"new": "1"}, "taints": [{"key": "fresh"}]})
    patch = find_change(node, wanted)
    assert patch is not None
    assert patch["metadata"]["uid"] == node["metadata"]["uid"]
    assert patch["metadata"]["resourceVersion"] == "1"
    changed = merge(node, patch)
    assert changed["metadata"]["labels"] == wanted.labels | {"team": "a"}
    assert [item["key"] for item in changed["spec"]["taints"]] == ["node.kubernetes.io/not-ready", "mine", "fresh"]
    assert find_change(changed, wanted) is None


@pytest.mark.parametrize("note", ["", "{", "[]", '{"taints": [1]}', '{"labels": 5}', "null"])
def test_a_note_that_somebody_broke_is_written_anew(note: str) -> None:
    mend(build_live(annotations={labels.FROM_BACKEND: note}))


def test_what_somebody_changed_is_put_right() -> None:
    node = build_live()
    node["metadata"]["labels"]["type"] = "other"
    node["spec"]["taints"] = []
    patch = mend(node)
    assert patch["metadata"]["labels"] == {"type": "virtual-kubelet"}
    assert patch["spec"] == {"taints": TAINTS}


def test_a_node_that_is_wanted_again_takes_pods_again() -> None:
    node = build_live(annotations={labels.REMOVED_SINCE: "2026-01-01T00:00:00Z"})
    node["spec"]["unschedulable"] = True
    assert mend(node)["spec"] == {"unschedulable": None}


def test_a_cordon_of_the_admins_stays() -> None:
    node = build_live()
    node["spec"]["unschedulable"] = True
    assert find_change(node, want()) is None
