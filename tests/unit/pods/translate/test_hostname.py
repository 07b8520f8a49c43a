"""The host name that containers see."""

import dataclasses
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.pods.translate import hostname
from tests.unit.pods.translate.builders import TARGET, build_pod

NEW = dataclasses.replace(TARGET, has_hostname_override=True)
FULL = {"hostname": "db-0", "subdomain": "db", "setHostnameAsFQDN": True}
LONG = {"hostname": "x" * 40, "subdomain": "db", "setHostnameAsFQDN": True}


def build(name: str, **spec: Any) -> Object:
    pod = build_pod(**spec)
    pod["metadata"]["name"] = name
    return pod


@pytest.mark.parametrize(
    ("pod", "short", "override"),
    [
        (build("web-0"), "web-0", None),
        (build("web.1"), "web-1", "web.1"),
        (build("web.1", hostname="web"), "web", None),
        (build("x" * 62 + ".yz"), "x" * 62, "x" * 62),
        (build("web", subdomain="db"), "web", None),
        (build("web", setHostnameAsFQDN=True), "web", None),
        (build("web", **FULL), "db-0", "db-0.db.shop.svc.cluster.local"),
        (build("a.b", subdomain="db", setHostnameAsFQDN=True), "a-b", "a-b.db.shop.svc.cluster.local"),
        (build("web", **LONG), "x" * 40, None),
        (build("web", hostnameOverride="own.example"), "web", "own.example"),
    ],
)
def test_the_fields_of_the_host_pod(pod: Object, short: str, override: str | None) -> None:
    expected = {"hostname": short} | ({"hostnameOverride": override} if override else {})
    assert hostname.build_hostname(pod, NEW) == expected
    assert hostname.build_hostname(pod, TARGET) == {"hostname": short}


@pytest.mark.parametrize(
    ("pod", "told", "told_by_old_hosts"),
    [
        (build("web.1"), "", ""),
        (build("web", **FULL), "", "the host cluster needs Kubernetes 1.35"),
        (build("web", **LONG), "is longer than 63 characters", "needs Kubernetes 1.35"),
        (build("web", setHostnameAsFQDN=True), "", ""),
        (build("web", subdomain="db"), "unless `spec.setHostnameAsFQDN` is true", "unless `spec.setHostnameAsFQDN` is true"),
        (build("web", subdomain="db", hostnameOverride="own.example"), "", "`spec.hostnameOverride` is 'own.example'"),
        (build("web", hostNetwork=True, **FULL), "", ""),
    ],
)
def test_what_cannot_be_is_told(pod: Object, told: str, told_by_old_hosts: str) -> None:
    for target, text in ((NEW, told), (TARGET, told_by_old_hosts)):
        found = list(hostname.find_ignored(pod, target))
        assert len(found) == bool(text)
        assert text in "".join(found)


def test_pods_of_a_stateful_set_all_lack_the_same_which_is_told_at_the_set() -> None:
    pod = build("web-0", subdomain="web")
    pod["metadata"]["ownerReferences"] = [
        {"kind": "StatefulSet", "name": "web", "uid": "s", "apiVersion": "apps/v1", "controller": True}
    ]
    assert list(hostname.find_ignored(pod, NEW)) == []
    about, message = hostname.find_ignored_of_set(pod) or ({}, "")
    meta = {"name": "web", "uid": "s", "namespace": pod["metadata"]["namespace"]}
    assert about == {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta}
    assert "`hostname -f`" in message
    assert hostname.find_ignored_of_set(build("web-0", subdomain="web")) is None
    for change in ({"setHostnameAsFQDN": True}, {"hostnameOverride": "own"}, {"hostNetwork": True}, {"subdomain": ""}):
        assert hostname.find_ignored_of_set(pod | {"spec": pod["spec"] | change}) is None
