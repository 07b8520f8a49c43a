"""Labels and selectors: what is the tenant's stays, what is not is carried under another name on both sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.api import labels as known
from nestor.api.objects import Object
from nestor.pods.translate import labels

ALLOWED = ("app", "k8s-app", "pod-template-hash", "example.org/*", "other.org/team", "app.kubernetes.io/*")


@pytest.mark.parametrize(
    ("allowed", "key"),
    [
        *(((), key) for key in ("app", "example.org/tier", "nestor.dev/cluster")),
        *((ALLOWED, key) for key in ("tier", "other.org/tier", "sub.example.org/tier", "azure.workload.identity/use")),
        # Those that others act on, whatever is allowed.
        *(
            ((key, f"{key.partition('/')[0]}/*"), key)
            for key in (
                "nestor.dev/cluster",
                "nestor.dev/component",
                "x.nestor.dev/y",
                "app.kubernetes.io/managed-by",
                "topology.kubernetes.io/zone",
                "statefulset.kubernetes.io/pod-name",
                "batch.kubernetes.io/job-name",
                "k8s.v1.cni.cncf.k8s.io/networks",
                "kueue.x-k8s.io/queue-name",
                "jobset.sigs.x-k8s.io/jobset-name",
            )
        ),
    ],
)
def test_other_and_reserved_keys_are_carried_under_another_name(allowed: tuple[str, ...], key: str) -> None:
    host = labels.host_key(key, allowed)
    assert host.startswith("tenant.nestor.dev/" + key.rpartition("/")[2])
    assert list(labels.host_labels({key: "x"}, allowed)) == [host]


RESERVED = r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?\.k8s\.io/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


@given(st.from_regex(RESERVED, fullmatch=True))
def test_renamed_keys_are_valid_and_never_ours(key: str) -> None:
    prefix, _, name = labels.host_key(key, ALLOWED).partition("/")
    assert len(name) <= 63
    assert name[0].isalnum()
    assert name[-1].isalnum()
    assert prefix == "tenant.nestor.dev"
    assert labels.host_key(key, ALLOWED) not in (known.CLUSTER, known.NESTED_UID, known.COMPONENT)


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ({"key": "a", "operator": "In", "values": ["1", "2"]}, True),
        ({"key": "a", "operator": "In", "values": ["2"]}, False),
        ({"key": "a", "operator": "NotIn", "values": ["2"]}, True),
        ({"key": "b", "operator": "NotIn", "values": ["2"]}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "b", "operator": "DoesNotExist"}, True),
    ],
)
def test_match_expressions(expression: Object, matches: bool) -> None:
    assert labels.is_match({"matchExpressions": [expression]}, {"a": "1"}) is matches
