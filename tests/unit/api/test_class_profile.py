"""What a class comes to."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from nestor.api.crd import RESOURCES, build_crd
from nestor.api.nestedclass import PROFILES, resolve_class, write_effective
from nestor.clients.cli.offline import rules

Object = dict[str, Any]
(CLASS,) = (item for item in RESOURCES if item.kind == "NestedClass")
SPEC: Object = build_crd(CLASS)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def summary(**spec: Any) -> tuple[Any, ...]:
    """What the profiles differ in."""
    found = resolve_class(spec)
    own, network = found.namespace, found.network
    limits = (found.max_jobs_per_namespace, found.max_active_deadline_seconds)
    return (own.pod_security, network.unenforced, len(network.private_ranges), found.images.always_pull, own.quota, *limits)


TENANTS = {"requests.cpu": 8, "requests.memory": "32Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ("Baseline", "Refuse", 4, True, TENANTS, 20, 604_800)),
        ({"profile": "Tenants"}, ("Baseline", "Refuse", 4, True, TENANTS, 20, 604_800)),
        ({"profile": "Evaluation"}, ("Baseline", "Warn", 4, False, None, 50, None)),
        ({"profile": "Trusted"}, ("Privileged", "Accept", 0, False, {"requests.storage": "1Ti"}, 200, None)),
        # What is said goes first: in maps, key by key.
        (
            {"namespace": {"quota": {"cpu": 2, "pods": 3}}, "network": {"unenforced": "Warn"}, "maxJobsPerNamespace": 0},
            ("Baseline", "Warn", 4, True, TENANTS | {"requests.cpu": 2, "pods": 3}, 0, 604_800),
        ),
        (
            {"profile": "Trusted", "namespace": {"podSecurity": "Baseline", "quota": {"requests.storage": "5Gi"}}},
            ("Baseline", "Accept", 0, False, {"requests.storage": "5Gi"}, 200, None),
        ),
    ],
)
def test_the_profile_says_what_the_class_does_not(spec: Object, expected: tuple[Any, ...]) -> None:
    assert summary(**spec) == expected


@pytest.mark.parametrize("spec", [{"profile": "Anybody"}, {"profile": ["Tenants"]}, {"queue": "Require"}, {"cluster": 1}])
def test_what_is_no_class_is_told_field_by_field(spec: Object) -> None:
    with pytest.raises(ValidationError):
        resolve_class(spec)


def find_defaults(schema: Object) -> Object:
    """What an API server fills in."""
    found = {}
    for name, field in schema["properties"].items():
        if "default" in field:
            found[name] = field["default"]
    return found


@pytest.mark.parametrize("profile", PROFILES)
def test_no_api_server_fills_in_what_is_the_profiles(profile: str) -> None:
    for name, said in PROFILES[profile].items():
        field = SPEC["properties"][name]
        assert "default" not in field
        if isinstance(said, dict):
            assert not said.keys() & find_defaults(field).keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_shown_is_a_class_that_comes_to_the_same(profile: str) -> None:
    given: Object = {"profile": profile, "placement": {"machines": [{"name": "m", "quota": {"cpu": 1}}], "tolerations": ["a=b"]}}
    found = resolve_class(given, ["v1.35", "v1.36"])
    shown = write_effective(found)
    assert json.loads(json.dumps(shown)) == shown
    assert list(rules.check_rules(shown, SPEC, "spec")) == []
    assert resolve_class(shown, ["v1.35", "v1.36"]) == found
    assert {} not in shown.values()
