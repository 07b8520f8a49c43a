"""Each field of each version of Kubernetes is in a table, and the tables say what the code does."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object
from nestor.pods.translate import fields, ignored, pod, refusals
from nestor.pods.translate.fields import TABLES, pods
from nestor.syncer.translate import service
from tests.openapi import Field, read_fields, read_versions
from tests.openapi.__main__ import ROOTS
from tests.unit.pods.translate.builders import BASELINE, PRIVILEGED, TARGET, build_pod, build_service

VALUES_FILE = Path(__file__).parents[4] / "charts/nestor/values.yaml"
FIELDS = read_fields()


def build(**spec: Any) -> Object:
    return build_pod(**spec)


BY_OWNER: dict[str, dict[str, Field]] = {}
for found in FIELDS:
    BY_OWNER.setdefault(found.owner, {})[found.name] = found
LOOKED_INTO = ("Pass", "Translate", "Class")


def find_reached() -> set[str]:
    """The types whose content reaches the host, or may."""
    reached: set[str] = set()
    new = [root for roots in ROOTS.values() for root in roots]
    while new:
        owner = new.pop()
        reached.add(owner)
        rules = TABLES.get(owner, {})
        into = {field.type for name, field in BY_OWNER[owner].items() if name in rules and rules[name].how in LOOKED_INTO}
        new += into - reached - {""}
    return reached


def test_every_field_of_every_version_is_in_a_table() -> None:
    missing = [f"{owner}.{name}" for owner in find_reached() for name in BY_OWNER[owner].keys() - TABLES.get(owner, {}).keys()]
    assert not sorted(missing), "say in `nestor/pods/translate/fields` what becomes of them"


def test_the_tables_have_no_field_that_no_version_has() -> None:
    reached = find_reached()
    assert not TABLES.keys() - reached
    for owner in reached:
        assert not TABLES[owner].keys() - BY_OWNER[owner].keys(), owner


def test_every_rule_that_is_told_says_why() -> None:
    for owner, table in TABLES.items():
        for name, rule in table.items():
            needs_note = rule.how in ("Class", "Ignore", "Own") or (
                rule.how == "Refuse" and owner not in ("Volume", "VolumeProjection")
            )
            assert bool(rule.note) or not needs_note, f"{owner}.{name}"


def test_the_file_covers_the_versions_that_the_chart_offers() -> None:
    values = yaml.safe_load(VALUES_FILE.read_text())
    offered = {item["version"] for item in values["k3s"]["versions"]}
    assert offered
    assert offered <= set(read_versions())


PASSES = {
    "PodSpec": """activeDeadlineSeconds hostAliases hostUsers os readinessGates resources restartPolicy securityContext
        shareProcessNamespace terminationGracePeriodSeconds""",
    "PodSecurityContext": """fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy
        supplementalGroups supplementalGroupsPolicy""",
    "SecurityContext": "allowPrivilegeEscalation readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser",
    "Capabilities": "drop",
    "SELinuxOptions": "level",
    "Sysctl": "value",
    "Container": """args command imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy resources
        restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
        terminationMessagePolicy tty volumeMounts workingDir""",
    "ContainerPort": "containerPort name protocol",
    "HTTPGetAction": "httpHeaders path port protocol scheme",
    "TCPSocketAction": "port",
    "Volume": "emptyDir image name",
    "VolumeProjection": "",
    "PersistentVolumeClaimSpec": "accessModes",
    "ServiceSpec": "internalTrafficPolicy publishNotReadyAddresses sessionAffinity sessionAffinityConfig trafficDistribution",
    "ServicePort": "appProtocol name port protocol targetPort",
    "NetworkPolicyPeer": "",
    "ExactDeviceRequest": "allocationMode capacity count derivedAttributes selectors",
}
"""What a tenant writes there reaches the host as it is. A new field here is a decision about walls between tenants."""


def test_what_reaches_the_host_unseen_is_agreed_on() -> None:
    found = {owner: set(fields.find(TABLES[owner], "Pass")) for owner in PASSES}
    assert found == {owner: set(names.split()) for owner, names in PASSES.items()}


def test_what_passes_is_in_the_volume() -> None:
    for name in ("emptyDir", "image"):
        nested = build_pod(volumes=[{"name": "v", name: {"x": "y"}}])
        assert refusals.find_refusals(nested, BASELINE) == []
        assert pod.build_pod(nested, TARGET, {}, BASELINE)["spec"]["volumes"] == [{"name": "v", name: {"x": "y"}}]


def test_what_is_refused_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is none at the moment, but the next version of Kubernetes may have one."""
    monkeypatch.setitem(cast(dict[str, fields.Rule], pods.POD_SPEC), "someField", fields.Rule("Refuse", "why"))
    (message,) = refusals.find_refusals(build(someField="x"), PRIVILEGED)
    assert message.startswith("`spec.someField` may not be set: ")


BY_CLASS: Object = {
    "hostIPC": True,
    "hostNetwork": True,
    "hostPID": True,
    "nodeSelector": {"nestor.dev/backend": "x"},
    "priorityClassName": "x",
    "resourceClaims": [{"name": "x", "resourceClaimName": "x"}],
    "runtimeClassName": "x",
    "schedulerName": "x",
    "schedulingGroup": {"podGroupName": "x"},
    "tolerations": [{"key": "x", "operator": "Exists"}],
}
"""A value of each field that the class decides on, which the strictest one does not allow."""


@pytest.mark.parametrize("name", BY_CLASS)
def test_what_the_class_does_not_allow_is_told(name: str) -> None:
    nested = build(**{name: BY_CLASS[name]})
    (message,) = [*refusals.find_refusals(nested, BASELINE), *ignored.find_ignored(nested, BASELINE, TARGET)]
    assert f"`spec.{name}" in message


@pytest.mark.parametrize("group", ["initContainers", "containers"])
def test_a_field_of_a_container_that_no_version_has_yet_is_told(group: str) -> None:
    nested = build_pod()
    nested["spec"][group] = [{"name": "a", "image": "a", "anythingNew": {"x": 1}}]
    expected = f"`spec.{group}[0].anythingNew` is set, but this version of Nestor does not know the field"
    assert ignored.find_ignored(nested, BASELINE, TARGET) == [expected]


ALL = AllowedServices(node_ports=True, load_balancers=True, load_balancer_classes=["x"])


def test_what_passes_is_in_the_host_service_and_nothing_else_is() -> None:
    passing = dict.fromkeys(PASSES["ServiceSpec"].split(), "x")
    assert passing.items() <= service.build_service(build_service(**passing), TARGET, None)["spec"].items()
    others = dict.fromkeys(["externalName", "externalIPs", "loadBalancerIP", "new"], "x")
    plain, built = (service.build_service(build_service(**own), TARGET, None, ALL) for own in ({}, others))
    assert plain == built


BY_CLASS_OF_SERVICES: Object = {
    "type": {},
    "externalTrafficPolicy": {"externalTrafficPolicy": "Local"},
    "allocateLoadBalancerNodePorts": {"allocateLoadBalancerNodePorts": True},
    "loadBalancerClass": {"loadBalancerClass": "x"},
    "loadBalancerSourceRanges": {"loadBalancerSourceRanges": ["192.0.2.0/24"]},
}


@pytest.mark.parametrize("name", BY_CLASS_OF_SERVICES)
def test_what_the_class_allows_is_in_the_host_service_and_in_no_other(name: str) -> None:
    nested = build_service(type="LoadBalancer", **BY_CLASS_OF_SERVICES[name])
    strict, free = (service.build_service(nested, TARGET, None, allowed)["spec"] for allowed in (service.NOTHING, ALL))
    assert free[name] == nested["spec"][name]
    assert strict.get(name) != nested["spec"][name]
    assert [text.split("`")[1] for text in service.find_ignored(nested)] == ["spec.type"]


IGNORED_OF_SERVICES: Object = {"externalIPs": ["192.0.2.1"], "loadBalancerIP": "192.0.2.1", "new": 1}


def test_what_is_ignored_of_a_service_is_told() -> None:
    for name in IGNORED_OF_SERVICES:
        (message,) = service.find_ignored(build_service(**{name: IGNORED_OF_SERVICES[name]}), ALL)
        assert message.startswith(f"`spec.{name}` ")
