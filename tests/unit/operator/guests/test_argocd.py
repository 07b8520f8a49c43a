"""The Secret by which Argo CD knows a job's cluster: when it is written, and whose it is."""

import datetime
from dataclasses import replace
from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.api.allowances import ArgoCDPolicy
from nestor.cluster import certificates, pki
from nestor.cluster.argocd import Registration
from nestor.cluster.pki import Authorities, Lifetimes
from nestor.cluster.shape import Host
from nestor.kube import Api, Forbidden, kinds
from nestor.operator.guests.argocd import ArgoCD
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object, build_cluster, build_job, build_policy, build_resolved, build_shape

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
KNOWN = build_policy(argoCD={"namespace": "argocd"})
RESOLVED = build_resolved(build_job(), KNOWN)
NAME = RESOLVED.home.namespace


def build_authorities() -> Authorities:
    found = pki.mint_authorities("hello", NOW)
    pairs = [certificates.Pair(found[f"{name}.crt"], found[f"{name}.key"]) for name in ("server-ca", "client-ca", "access-ca")]
    return Authorities(*pairs)


AUTHORITIES = build_authorities()


def count(api: MemoryApi) -> tuple[int, int]:
    """How often it was asked for a Secret, and for a change of one."""
    return api.asked.count(f"GET secrets argocd/{NAME}"), api.asked.count(f"APPLY secrets argocd/{NAME}")


def build_registrar(api: MemoryApi, *, is_ready: bool = True) -> ArgoCD:
    world = Cache(cast(Api, api))
    cluster = build_cluster(is_ready=is_ready)
    world.clusters.put(
        {**cluster, "metadata": {"name": "hello", "namespace": RESOLVED.home.namespace, "uid": "c", "resourceVersion": "1"}}
    )
    context = Context.create(cast(Api, api), Settings(image="x"), world, Host(()))
    context.provisioner.get_authorities = lambda _: AUTHORITIES  # type: ignore[method-assign, assignment]
    return ArgoCD(context)


async def ensure(registrar: ArgoCD, recorded: str | None = "argocd", **argo_cd: Any) -> tuple[str | None, str]:
    """Where it is or will be by a pass, and what is wrong. `recorded`: where it is by the job's status."""
    job = build_job() | {"status": {"argoCDNamespace": recorded} if recorded else {}}
    job["metadata"] |= {"uid": RESOLVED.uid}
    vars(registrar)["_context"].cache.jobs.store["team-a", "hello"] = job
    resolved = replace(RESOLVED, policy=build_policy(**({"argoCD": {"namespace": "argocd"} | argo_cd} if recorded != "" else {})))
    await registrar.ensure(resolved, resolved.home)
    word = registrar.report(resolved)
    assert word is not None
    return word.details["argoCDNamespace"], word.note


@pytest.mark.parametrize(
    ("recorded", "is_ready", "where"),
    [(None, True, "argocd"), ("argocd", False, "argocd"), ("", True, None)],
    ids=["recorded first", "not ready", "nobody wants it known"],
)
async def test_what_is_not_due_costs_no_request(recorded: str | None, is_ready: bool, where: str | None) -> None:
    api = MemoryApi()
    assert await ensure(build_registrar(api, is_ready=is_ready), recorded) == (where, "")
    assert count(api) == (0, 0)


async def test_a_settled_job_costs_no_write_and_a_new_process_keeps_the_certificate() -> None:
    api = MemoryApi()
    registrar = build_registrar(api)
    assert await ensure(registrar) == ("argocd", "")
    assert await ensure(registrar) == ("argocd", "")
    assert count(api) == (2, 1)
    await ensure(build_registrar(api))
    assert count(api) == (3, 1)


@pytest.mark.parametrize("change", [{"project": "p"}, {"namespaces": ["*"]}, {"labels": {"a": "b"}}])
async def test_what_the_class_changes_is_written(change: Object) -> None:
    api = MemoryApi()
    registrar = build_registrar(api)
    await ensure(registrar)
    await ensure(registrar, **change)
    assert count(api)[1] == 2


@pytest.mark.parametrize("part", ["labels", "data"])
async def test_what_somebody_else_changed_is_written_again(part: str) -> None:
    api = MemoryApi()
    await ensure(build_registrar(api))
    [secret] = api.objects.values()
    if part == "labels":
        secret["metadata"]["labels"] = {labels.JOB_UID: "1234"}
    else:
        secret["data"] = {**secret["data"], "server": "aHR0cHM6Ly9ldmls"}
    await ensure(build_registrar(api))
    assert count(api)[1] == 2


async def test_somebody_elses_secret_is_left_alone() -> None:
    api = MemoryApi()
    foreign = api.put(kinds.SECRET, {"metadata": {"name": NAME, "namespace": "argocd"}})
    registrar = build_registrar(api)
    assert (await ensure(registrar))[1].endswith("is not Nestor's")
    assert await registrar.leave({"status": {"argoCDNamespace": "argocd"}}, RESOLVED.home) is None
    assert list(api.objects.values()) == [foreign]
    assert count(api)[1] == 0


async def test_what_is_refused_is_told() -> None:
    api = MemoryApi()
    api.refusal = lambda *_: Forbidden(403, "Forbidden", "a policy says no")
    registrar = build_registrar(api)
    found = await ensure(registrar, recorded="forbidden", namespace="forbidden")
    assert found == ("forbidden", "could not register the cluster with Argo CD: a policy says no")


async def test_another_namespace_is_recorded_once_the_former_has_none() -> None:
    api = MemoryApi()
    registrar = build_registrar(api)
    await ensure(registrar)
    assert await ensure(registrar, namespace="other") == ("other", "")
    assert api.objects == {}
    assert await ensure(registrar, recorded="other", namespace="other") == ("other", "")
    assert list(api.objects) == [("secrets", "other", NAME)]


def test_it_is_renewed_as_users_kubeconfigs_are() -> None:
    registration = Registration(RESOLVED.home, "default", ArgoCDPolicy(namespace="argocd"))
    secret = registration.build_secret(AUTHORITIES, NOW, Lifetimes())
    assert pki.read_renewal(secret) == NOW + Lifetimes().admin_renewal
    assert pki.is_current(secret, registration.content_key(AUTHORITIES), NOW)


def test_argo_cd_reaches_the_server_even_if_only_some_others_do() -> None:
    def peers(policy: Object) -> list[str]:
        return build_shape(policy=policy).api_from

    block, argo = "10.40.0.0/30", {"namespace": "argocd"}
    assert peers({"network": {"apiFrom": [block]}, "argoCD": argo}) == [block, "argocd"]
    assert peers({"network": {"apiFrom": [block]}}) == [block]
    assert peers({"argoCD": argo}) == []


def test_labels_that_say_what_nestor_or_argo_cd_says_have_no_effect() -> None:
    own = {
        "team": "a",
        "example.com/tier": "preview",
        "nestor.dev/job": "other",
        "node.kubernetes.io/x": "y",
        "argocd.argoproj.io/secret-type": "repository",
        "argoproj.io/x": "y",
    }
    policy = ArgoCDPolicy(namespace="argocd", labels=own)
    found = Registration(RESOLVED.home, "gold", policy).metadata["labels"]
    assert found["argocd.argoproj.io/secret-type"] == "cluster"
    assert found[labels.JOB] == "hello"
    assert (found["team"], found["example.com/tier"], found[labels.CLASS]) == ("a", "preview", "gold")
    assert not {"node.kubernetes.io/x", "argoproj.io/x"} & found.keys()
