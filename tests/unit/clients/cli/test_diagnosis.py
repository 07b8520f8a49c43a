"""Facts → findings: each fault of an installation or a job is told with what to do, and nothing is told that is no fault."""

import copy
import dataclasses
from typing import Any

import pytest

from nestor import __version__
from nestor.api import labels
from nestor.api.crd import RESOURCES, build_crd
from nestor.clients.cli.commands import doctor
from nestor.clients.cli.diagnosis import installation, job
from nestor.clients.cli.diagnosis.facts import JOB_RIGHTS, RIGHTS, Installation, JobFacts, is_operator
from nestor.clients.cli.view.facts import describe_trouble
from tests.unit.clients.cli import builders

Object = dict[str, Any]
OPERATOR: Object = {
    "metadata": {"name": "nestor", "namespace": "nestor-system", "labels": {"app.kubernetes.io/version": __version__}},
    "spec": {"replicas": 1},
    "status": {"readyReplicas": 1},
}
CLASS: Object = {
    "metadata": {"name": "default"},
    "spec": {"cluster": {"versions": ["v1.36"]}, "expose": {"domain": "apps.test", "ingressClassName": "nginx"}},
}
LOGIN = CLASS["spec"]["expose"] | {"annotations": {"nginx.ingress.kubernetes.io/auth-url": "https://login.test"}}
NGINX: Object = {"metadata": {"name": "nginx"}}
HEALTHY = Installation(
    server="https://10.0.0.1:6443",
    version="v1.36.3",
    namespace="team-a",
    served={resource.plural for resource in RESOURCES},
    crds={resource.plural: build_crd(resource) for resource in RESOURCES},
    operators=[OPERATOR],
    classes=[CLASS],
    ingress_classes=[NGINX],
    storage_classes=[{"metadata": {"name": "fast"}}],
    rights=dict.fromkeys(RIGHTS, True),
    has_image_volumes=True,
)


def changed(content: Object, **spec: Any) -> Object:
    result = copy.deepcopy(content)
    result["spec"] |= spec
    return result


def older_crds() -> dict[str, Object]:
    """Definitions that lack two fields of NestedAppJob."""
    crds = copy.deepcopy(HEALTHY.crds or {})
    spec = crds["nestedappjobs"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del spec["suspend"], spec["failurePolicy"]
    return crds


def newer_crds() -> dict[str, Object]:
    """Definitions with a field that this version does not know."""
    crds = copy.deepcopy(HEALTHY.crds or {})
    spec = crds["nestedclasses"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["ofALaterVersion"] = {"type": "object"}
    return crds


def test_the_portal_is_no_second_operator() -> None:
    portal = changed(OPERATOR, selector={"matchLabels": {"app.kubernetes.io/name": "nestor-portal"}})
    assert not is_operator(portal)
    assert is_operator(changed(OPERATOR, selector={"matchLabels": {"app.kubernetes.io/name": "nestor"}}))


def with_walls(status: str, reason: str, message: str) -> Object:
    """The class, and what the operator found out about network policies."""
    found = {"type": "NetworkEnforced", "status": status, "reason": reason, "message": message}
    return CLASS | {"status": {"conditions": [found]}}


def classes(**spec: Any) -> Object:
    return {"classes": [changed(CLASS, **spec)]}


GATEWAY = {"domain": "apps.test", "gateway": {"name": "public", "namespace": "gateways"}, "controllerCertificate": True}
DEFAULT_INGRESS = {"metadata": {"name": "x", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="all is there"),
        pytest.param(
            {"classes": [CLASS | {"metadata": {"name": "big", "annotations": {labels.DEFAULT_CLASS: "true"}}}]},
            id="a default class by its annotation",
        ),
        pytest.param(classes(expose=GATEWAY) | {"ingress_classes": []}, id="a gateway"),
        pytest.param({"classes": [with_walls("True", "PoliciesEnforced", "x")]}, id="walls that stand"),
        pytest.param({"classes": [with_walls("False", "UnenforcedAccepted", "x")]}, id="walls that nobody wants"),
        pytest.param(classes(expose=LOGIN | {"from": ["ingress"]}), id="a login that only the controller gets past"),
        pytest.param(classes(expose={"domain": "x"}) | {"ingress_classes": [DEFAULT_INGRESS]}, id="a default ingress class"),
    ],
)
def test_what_is_fine_has_nothing_but_good_findings(change: dict[str, Any]) -> None:
    findings = installation.judge(dataclasses.replace(HEALTHY, **change))
    assert {finding.level for finding in findings} == {"good"}
    assert any("you can run jobs in namespace 'team-a'" in finding.text for finding in findings)


BROKEN = [
    ({"version": "v1.29.4"}, "bad", "Nestor needs 1.33 or later"),
    ({"has_image_volumes": False}, "bad", "does not support image volumes"),
    ({"served": set(), "crds": {}}, "bad", "not installed in the cluster: NestedAppJob, NestedApp, NestedCluster, NestedClass"),
    ({"served": HEALTHY.served - {"nestedapps"}}, "bad", "not installed in the cluster: NestedApp"),
    ({"crds": older_crds()}, "bad", "NestedAppJob is older than this nestor: it lacks `spec.failurePolicy`, `spec.suspend`"),
    ({"crds": newer_crds()}, "warn", "NestedClass is newer than this nestor: it has `spec.ofALaterVersion`"),
    ({"operators": []}, "bad", "no operator is installed"),
    ({"operators": None}, "warn", "cannot tell whether the operator is running"),
    ({"operators": [OPERATOR, OPERATOR]}, "bad", "several operators"),
    ({"operators": [changed(OPERATOR, replicas=0)]}, "bad", "scaled to 0"),
    ({"operators": [OPERATOR | {"status": {}}]}, "bad", "nestor-system/nestor is not ready: it has no running pod"),
    (
        {"operators": [OPERATOR | {"metadata": OPERATOR["metadata"] | {"labels": {"app.kubernetes.io/version": "0.0.1"}}}]},
        "warn",
        "the operator is version 0.0.1",
    ),
    ({"classes": []}, "bad", "there is no NestedClass"),
    ({"classes": None}, "warn", "cannot check the classes"),
    (
        {"classes": [with_walls("False", "NetworkNotEnforced", "nothing enforces them")]},
        "bad",
        "'default': nothing enforces them",
    ),
    ({"classes": [with_walls("Unknown", "NetworkNotProbed", "no room")]}, "warn", "'default': no room"),
    ({"classes": [CLASS | {"metadata": {"name": "big"}}]}, "warn", "no class is named 'default' or has annotation"),
    (classes(expose={"ingressClassName": "nginx"}), "warn", "no `expose.allowedHosts`: no job gets a URL"),
    (
        classes(expose={"ingressClassName": "nginx", "allowedHosts": ["a.test"]}),
        "warn",
        "no `expose.domain`: only jobs whose `expose.host` is in `expose.allowedHosts` get a URL",
    ),
    (
        classes(expose=LOGIN),
        "warn",
        "class 'default' has annotations for a login, but pods of all namespaces without a job reach targets past it",
    ),
    (classes(maxJobsPerNamespace=501), "warn", "class 'default' allows each namespace 501 jobs: one tenant"),
    (classes(expose={"domain": "x", "ingressClassName": "none"}), "bad", "IngressClass 'none', which does not exist"),
    (classes(expose={"domain": "x"}), "bad", "the cluster has no default one"),
    ({"ingress_classes": []}, "bad", "no IngressClass"),
    (
        classes(storage={"classes": ["fast", "slow"]}),
        "bad",
        "'default' lists StorageClass 'slow', which does not exist; available: fast",
    ),
    (
        {
            "classes": [changed(CLASS, expose=CLASS["spec"]["expose"] | {"tlsSecretName": "wild"})],
            "tls_secrets": {"default": False},
        },
        "bad",
        "TLS Secret 'wild'",
    ),
    (
        {"rights": HEALTHY.rights | {("create", "nestedappjobs", ""): False}},
        "bad",
        "you have no permission to create nestedappjobs",
    ),
]


@pytest.mark.parametrize(("change", "level", "part"), BROKEN)
def test_what_is_wrong_with_an_installation(change: dict[str, Any], level: str, part: str) -> None:
    findings = installation.judge(dataclasses.replace(HEALTHY, **change))
    found = [finding for finding in findings if part in finding.text]
    assert [finding.level for finding in found] == [level], findings
    assert found[0].advice or level == "warn"


def test_what_may_not_be_seen_is_no_fault() -> None:
    blind = dataclasses.replace(
        HEALTHY, crds=None, operators=None, classes=None, ingress_classes=None, storage_classes=None, has_image_volumes=None
    )
    assert not [finding for finding in installation.judge(blind) if finding.level == "bad"]


def build_pod(**status: Any) -> Object:
    return {"metadata": {"name": "web", "namespace": "x"}, "status": status}


def with_container(state: Object, **status: Any) -> Object:
    return build_pod(containerStatuses=[container(state)], **status)


def bound(node: str, **status: Any) -> Object:
    """A pod on a node where its container is being created."""
    waiting = container({"waiting": {"reason": "ContainerCreating"}})
    return build_pod(phase="Pending", containerStatuses=[waiting], **status) | {"spec": {"nodeName": node}}


def container(state: Object, **more: Any) -> Object:
    return {"name": "main", "state": state, "restartCount": 0} | more


PULLING = {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}
CRASHED = container(
    {"waiting": {"reason": "CrashLoopBackOff"}}, lastState={"terminated": {"reason": "OOMKilled", "exitCode": 137}}
)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (with_container({"running": {}}, phase="Running"), None),
        (with_container({"waiting": {"reason": "ContainerCreating"}}, phase="Pending"), None),
        (with_container(PULLING, phase="Pending"), "pod 'web', container 'main': ErrImagePull: no such host"),
        (
            build_pod(initContainerStatuses=[CRASHED]),
            "pod 'web', container 'main': CrashLoopBackOff; before, it ended with exit code 137 (OOMKilled)",
        ),
        (
            with_container({"terminated": {"reason": "Error", "exitCode": 2}}),
            "pod 'web', container 'main': ended: Error, exit code 2",
        ),
        (
            build_pod(containerStatuses=[container({"running": {}}, restartCount=5)]),
            "pod 'web', container 'main': restarted 5 times",
        ),
        (
            build_pod(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]),
            "pod 'web' is not scheduled: 0/1 nodes",
        ),
        (
            # Its containers only say that they are being created.
            bound("far", reason="BackendFull", message="exceeded quota: none"),
            "pod 'web' waits at node 'far': BackendFull: exceeded quota: none",
        ),
        (bound("far", reason="BackendUnavailable"), "pod 'web' waits at node 'far': BackendUnavailable"),
        (bound("far"), None),
        (build_pod(phase="Pending", reason="SomethingElse"), None),
        (build_pod(phase="Failed", reason="Evicted"), "pod 'web' failed: Evicted"),
        (with_container({"terminated": {"exitCode": 0}}, phase="Succeeded"), None),
        (build_pod(), None),
    ],
)
def test_pods(pod: Object, expected: str | None) -> None:
    assert describe_trouble(pod) == expected


def test_a_pod_that_is_held_for_its_gang() -> None:
    pod = build_pod(conditions=[{"type": "PodScheduled", "status": "False", "message": "Scheduling is blocked"}])
    pod["metadata"]["annotations"] = {"nestor.dev/gang-name": "shop/train", "nestor.dev/gang-size": "3"}
    assert describe_trouble(pod) == "pod 'web' is not scheduled: Scheduling is blocked"
    pod["spec"] = {"schedulingGates": [{"name": "nestor.dev/gang"}]}
    assert describe_trouble(pod) == (
        "pod 'web' waits until one place has room for all 3 pods of gang 'shop/train': its condition in the nested cluster says "
        "what is missing"
    )


@pytest.mark.parametrize(
    ("state", "level", "part"),
    [
        ("created", "bad", "has no status yet"),
        ("ready", "good", "job 'shop': Ready"),
        ("completed", "good", "Completed"),
        ("failed", "bad", "StepFailed: step 2 of 2 'web' failed"),
        ("waiting", "bad", "ImagePullFailed"),
        ("running", "good", "StepRunning"),
        ("retrying", "warn", "StepRetrying: step 2 of 3 'web' will be retried"),
        ("suspended", "good", "Suspended"),
    ],
)
def test_what_is_wrong_with_a_job(state: str, level: str, part: str) -> None:
    found = builders.STATES[state]()
    found.setdefault("status", {})["nextStep"] = "as its status says"
    first, *others = job.judge(JobFacts(found))
    assert (first.level, part in first.text, others) == (level, True, []), first
    assert first.advice == "as its status says" or state == "created"


def test_a_jobs_pods_events_and_missing_rights_are_told() -> None:
    event = {
        "involvedObject": {"kind": "Pod", "name": "web"},
        "reason": "FailedMount",
        "message": "no such Secret",
        "count": 4,
        "lastTimestamp": builders.ago(5),
    }
    facts = JobFacts(
        builders.ready(),
        pods=[build_pod(phase="Failed", reason="Evicted")],
        events=[event],
        rights=dict.fromkeys(JOB_RIGHTS, False),
    )
    texts = [finding.text for finding in job.judge(facts)]
    assert "pod 'web' failed: Evicted" in texts
    assert "Pod 'web', FailedMount: no such Secret (4 times)" in texts
    lacking = "get pods/log, get pods, list pods, watch pods, get services, create pods/portforward"
    assert any(f"you have no permission to {lacking}" in text for text in texts)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (HEALTHY, "no problems found"),
        (dataclasses.replace(HEALTHY, classes=[]), "1 problem found"),
        (dataclasses.replace(HEALTHY, classes=[], operators=[]), "2 problems found"),
    ],
)
def test_the_verdict(facts: Installation, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    doctor.show({"Installation": installation.judge(facts)}, None)
    assert capsys.readouterr().out.splitlines()[-1] == expected
