"""How users' input becomes an admitted job, and what its cluster is made of; refusals say what is allowed."""

from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.data import write
from nestor.api.policies import Persistence
from nestor.cluster.shape import Host
from nestor.kube import kinds
from nestor.operator.admission.admit import admit
from nestor.operator.admission.app_source import find_source
from nestor.operator.admission.identity import Refused, identify
from nestor.operator.world.trim import TRIMS
from tests.unit.operator.builders import STEPS, Object, build_job, build_policy, build_resolved, deny, resolve

CLASSES = {"default": build_policy(), "big": build_policy()}


def test_what_is_left_out_comes_from_the_class() -> None:
    found = build_resolved()
    assert (found.version, found.cluster.image) == ("v1.36", "k3s:v1.36.3-k3s1")
    assert [(route.host, route.url) for route in found.routes] == [
        ("hello-team-a.jobs.test", "http://hello-team-a.jobs.test:8080/")
    ]
    assert found.home.namespace.startswith("nestor-team-a-hello-")


def test_the_version_of_the_job_wins_over_the_appdefs_and_that_over_the_classs() -> None:
    nested = {"kubernetes_version": "v1.9", "templates": STEPS}
    assert build_resolved(build_job(nested=nested)).version == "v1.9"
    assert build_resolved(build_job(nested=nested, kubernetesVersion="v1.36")).version == "v1.36"
    assert build_resolved(build_job(nested={"kubernetes_version": "", "templates": STEPS})).version == "v1.36"
    policy = build_policy(cluster={"versions": ["v1.9", "v1.36"]})
    assert build_resolved(policy=policy).version == "v1.9"


def build_running(uid: str = "1234", **spec: Any) -> Object:
    return {"metadata": {"labels": {labels.JOB_UID: uid}}, "spec": {"kubernetesVersion": "v1.36", "image": "k3s:36"} | spec}


@pytest.mark.parametrize("versions", [["v1.37", "v1.36"], ["v1.35"]], ids=["gains a higher one", "loses the job's own"])
@pytest.mark.parametrize("spec", [{}, {"kubernetesVersion": "v1.36"}])
@pytest.mark.parametrize("volume", [None, Persistence(size="1Gi", storage_class_name="fast")])
def test_a_running_job_stays_as_it_is_when_the_class_changes(
    versions: list[str], spec: Object, volume: Persistence | None
) -> None:
    own: Any = {"persistence": write(volume)} if volume else {}
    policy = build_policy(cluster={"versions": versions, "persistence": {"size": "8Gi"}})
    found = resolve(build_job(**spec), {"default": policy}, build_running(**own)).cluster
    assert (found.kubernetes_version, found.image, found.persistence) == ("v1.36", "k3s:36", volume)


@pytest.mark.parametrize("cluster", [None, build_running(uid="another"), build_running(image=""), {"metadata": {}}])
@pytest.mark.parametrize("volume", [None, Persistence(size="8Gi")])
def test_without_a_cluster_of_its_own_the_class_decides(cluster: Object | None, volume: Persistence | None) -> None:
    policy = build_policy(cluster={"versions": ["v1.37"]} | ({"persistence": write(volume)} if volume else {}))
    found = resolve(build_job(), {"default": policy}, cluster).cluster
    assert (found.kubernetes_version, found.image, found.persistence) == ("v1.37", "k3s:37", volume)


def test_a_job_without_target_has_no_url() -> None:
    found = build_resolved(build_job(nested={"templates": STEPS}))
    assert (found.routes, set(found.facts)) == ((), {"name", "namespace"})


def two_commands() -> Object:
    """A job with two entry points that names none."""
    job = build_job()
    commands = job["spec"]["app"]["appDef"]["commands"]
    commands["Other"] = commands["Hello"]
    return job


@pytest.mark.parametrize(
    ("job", "reason", "message"),
    [
        (build_job(className="gold"), conditions.CLASS_NOT_FOUND, "no NestedClass named 'gold'; available: 'big', 'default'"),
        (build_job(className="bigg"), conditions.CLASS_NOT_FOUND, "available: 'big', 'default'; did you mean 'big'?"),
        (build_job(command="hello"), conditions.COMMAND_NOT_FOUND, "available: 'Hello'; did you mean 'Hello'?"),
        (build_job(kubernetesVersion="v1.1"), conditions.VERSION_UNSUPPORTED, "available: v1.9, v1.36"),
        # The AppDef's may be replaced by a newer one, of which there is none; the job's own is exact.
        (build_job(nested={"kubernetes_version": "v1.37", "templates": STEPS}), conditions.VERSION_UNSUPPORTED,
         "Kubernetes version 'v1.37' is not offered by class 'default'"),
        (build_job(kubernetesVersion="v1.30"), conditions.VERSION_UNSUPPORTED, "'v1.30' is not offered"),
        (build_job(command="Stop"), conditions.COMMAND_NOT_FOUND, "no command 'Stop'; available: 'Hello'"),
        (two_commands(), conditions.COMMAND_NOT_FOUND, "`command` must be set, because the AppDef has several: 'Hello', 'Other'"),
        (build_job(nested={"targets": []}), conditions.APPDEF_INVALID, "nested_kubernetes.templates` must be set"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_allowed(job: Object, reason: str, message: str) -> None:
    found = deny(job, classes=CLASSES)
    assert found.reason == reason
    assert message in found.message


def test_templates_that_make_no_plan_are_refused() -> None:
    found = build_resolved(build_job(nested={"templates": [{"name": "x", "type": "kubectl", "path": "../y"}]}))
    with pytest.raises(Refused, match=r"must not contain '\.\.'"):
        found.build_plan("image:x", 0)


def test_without_any_class_the_message_says_so() -> None:
    assert deny(build_job()).message.endswith("available: none")


def with_parameters(declared: Object, **spec: Any) -> Object:
    """A job whose command declares parameters, and renders them."""
    job = build_job(**spec)
    job["spec"]["app"]["appDef"]["commands"]["Hello"] |= {"parameters": declared}
    return job


def test_parameters_are_checked_and_reach_the_plan() -> None:
    declared = {"SIZE": {"type": "INT", "value": 1, "variable": True}, "name": {"type": "STR", "value": "x"}}
    found = build_resolved(with_parameters(declared, parameters={"SIZE": 3}))
    plan = found.build_plan("image:x", 0)
    assert plan.parameters == {"SIZE": 3, "name": "x"}
    assert plan.environment == {"SIZE": "3"}
    assert plan.facts == {
        "name": "hello",
        "namespace": "team-a",
        "host": "hello-team-a.jobs.test",
        "url": "http://hello-team-a.jobs.test:8080/",
    }


@pytest.mark.parametrize(
    ("declared", "given", "reason", "message"),
    [
        ({"size": {"type": "INT"}}, {"size": "big"}, conditions.PARAMETERS_INVALID, "`spec.parameters.size` must be"),
        ({"size": {"type": "INT"}}, {"siez": 1}, conditions.PARAMETERS_INVALID, "`spec.parameters.siez` is unknown"),
        ({"size": {"type": "INT", "required": True}}, None, conditions.PARAMETERS_INVALID, "`spec.parameters.size` must be set"),
        ({}, {"size": 1}, conditions.PARAMETERS_INVALID, "`spec.parameters` may not be set"),
        ({"size": {"type": "INT", "min": "x"}}, None, conditions.APPDEF_INVALID, "`appDef.commands.Hello.parameters.size.min`"),
    ],
)
def test_faulty_parameters_are_refused_with_the_field(declared: Object, given: Object, reason: str, message: str) -> None:
    found = deny(with_parameters(declared, parameters=given), classes=CLASSES)
    assert found.reason == reason
    assert message in found.message


def test_what_is_fetched_is_the_classs_policy_and_never_the_hosts_own() -> None:
    known = identify(build_job(), {"default": build_policy(templateHosts=["*.example.com"])})
    host = Host(("10.43.0.0/16", "fd00:43::/112"), ("203.0.113.7",))
    found = admit(known, find_source(known, ()), None, host).build_plan("image:x", 0).remote
    assert (found.enabled, found.allowed_hosts) == (True, ("*.example.com",))
    assert {"10.43.0.1", "fd00:43::1", "203.0.113.7", "169.254.0.0/16"} <= set(found.denied_addresses)


def test_a_version_that_the_running_cluster_does_not_have_is_a_warning() -> None:
    def warnings_of(version: str, **spec: str) -> list[str]:
        nested = {"kubernetes_version": version, "templates": STEPS}
        found = resolve(build_job(nested=nested, **spec), CLASSES, build_running())
        assert found.version == "v1.36"
        return [text for text in found.warnings if "Kubernetes version" in text]

    assert warnings_of("v1.36") == []
    assert warnings_of("") == []
    (said,) = warnings_of("v1.9")
    assert said.startswith("Kubernetes version 'v1.9' of the AppDef is ignored: the cluster already runs v1.36")
    assert warnings_of("v1.9", kubernetesVersion="v1.36") == []


def test_another_source_or_epoch_is_another_base() -> None:
    found = build_resolved()
    plans = [found.build_plan(source, epoch) for source, epoch in (("a", 0), ("b", 0), ("a", 1), ("a", 0))]
    assert len({plan.base for plan in plans}) == 3
    assert plans[0] == plans[3]


@pytest.mark.parametrize(
    ("wanted", "version", "warned"), [("v1.8", "v1.9", True), ("v1.30", "v1.36", True), ("v1.9", "v1.9", False)]
)
def test_an_appdefs_version_that_the_class_lacks_is_the_nearest_newer_one(wanted: str, version: str, warned: bool) -> None:
    found = resolve(build_job(nested={"kubernetes_version": wanted, "templates": STEPS}), CLASSES)
    assert found.version == version
    said = f"the AppDef's Kubernetes version '{wanted}' is not offered; {version}, the nearest newer one, is taken"
    assert (said in found.warnings) == warned


def test_a_jobs_cluster_that_cannot_be_read_is_not_taken_for_none() -> None:
    meta = {"name": "hello", "namespace": "n", "uid": "u", "labels": {labels.JOB_UID: "1234"}}
    cluster = TRIMS[kinds.NESTED_CLUSTER]({"metadata": meta, "spec": {"image": "x" * 300_000}})
    with pytest.raises(Refused, match="NestedCluster 'hello': `spec` has 300012 bytes as JSON; at most 262144 are accepted"):
        resolve(build_job(), CLASSES, cluster)
    cluster["metadata"]["labels"] = {labels.JOB_UID: "another"}
    assert resolve(build_job(), CLASSES, cluster).version == "v1.36"
