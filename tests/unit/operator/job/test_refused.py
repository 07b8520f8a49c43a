"""What becomes of a job that is refused, or whose pass fails: it keeps its limits, and its status says why."""

from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.cluster.provision import Provisioner
from nestor.kube import ApiError, Forbidden, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.guests.enforcement.keeper import Enforcement
from nestor.operator.job import admitted, reconcile
from nestor.operator.job.admitted import AdmittedJobs
from nestor.operator.job.children import ChildrenKeeper
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import HOME, Scene

VICTIMS = "shop-team-b.jobs.test"


async def test_a_refused_job_that_loses_its_host_says_why_and_goes_on_saying_it() -> None:
    scene = Scene()
    scene.add_job(expose={"host": VICTIMS})
    await scene.run()
    made = scene.look(kinds.INGRESS, "hello")
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    scene.show(kinds.INGRESS, made)
    assert scene.job["status"]["url"] == f"http://{VICTIMS}:8080/"
    scene.edit(command="no such command")
    await scene.run()
    assert scene.api.look(kinds.INGRESS, "hello", HOME) is not None

    victim = build_job("shop", "team-b")
    victim["metadata"] |= {"uid": "2", "creationTimestamp": "2026-02-01T00:00:00Z"}
    scene.change(kinds.NESTED_APP_JOB, victim)
    said = "False", conditions.HOSTNAME_CONFLICT, f"host '{VICTIMS}' is the default host of job 'shop' in namespace 'team-b'"
    for _ in range(2):
        await scene.run()
        assert scene.api.look(kinds.INGRESS, "hello", HOME) is None
        scene.hide(kinds.INGRESS, made)
        assert scene.said(conditions.EXPOSED) == said
        assert scene.said(conditions.ADMITTED)[:2] == ("False", conditions.COMMAND_NOT_FOUND)
        status = scene.job["status"]
        assert "url" not in status
        assert [(item["ready"], item["message"], "url" in item) for item in status["targets"]] == [(False, said[2], False)]
    events = [item for key, item in scene.api.objects.items() if key[0] == "events"]
    assert [item["message"] for item in events if item["reason"] == conditions.HOSTNAME_CONFLICT] == [said[2]]
    assert made["metadata"]["labels"][labels.COMPONENT] == labels.COMPONENT_EXPOSURE


CLOSED: Object = {"network": {"internet": "None"}}


async def make_job() -> Scene:
    """A job that is made, and whose class allows the internet and a hundred pods."""
    scene = await Scene.started()
    assert is_online(scene)
    assert count_pods(scene) == "102"
    return scene


def is_online(scene: Scene) -> bool:
    """Whether the application may connect to the internet."""
    found = scene.look(kinds.NETWORK_POLICY, "hello-app-out")
    return "0.0.0.0/0" in str(found["spec"]["egress"])


def count_pods(scene: Scene) -> str:
    """How many pods the quota allows."""
    found = scene.look(kinds.RESOURCE_QUOTA, "nestor")
    return str(found["spec"]["hard"]["pods"])


def tighten(scene: Scene) -> None:
    """Have the class allow less of everything."""
    scene.set_class("Baseline", {"quota": {"pods": "5"}, "defaultResources": {"limits": {"cpu": "1"}}}, **CLOSED)


@pytest.mark.parametrize("spec", [{"parameters": {"bogus": 1}}, {"command": "no such command"}, {"app": "cannot be read"}])
async def test_what_the_class_no_longer_allows_ends_for_a_refused_job_too(spec: Object) -> None:
    scene = await make_job()
    scene.edit(**spec)
    tighten(scene)
    await scene.run()
    assert scene.said(conditions.ADMITTED)[0] == "False"
    assert not is_online(scene)
    assert count_pods(scene) == "7"
    limits = scene.look(kinds.LIMIT_RANGE, "nestor")
    assert limits["spec"]["limits"][0]["default"] == {"ephemeral-storage": "10Gi", "cpu": "1"}
    home = scene.look(kinds.NAMESPACE, HOME, "")
    assert home["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"


async def test_it_ends_too_where_the_host_refuses_something_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await make_job()
    tighten(scene)

    async def fail(*_: Any) -> None:
        raise Forbidden(403, "Forbidden", "exceeded quota")

    monkeypatch.setattr(CopiedInputs, "ensure_templates", fail)
    monkeypatch.setattr(Provisioner, "ensure_surroundings", fail)
    assert isinstance((await scene.run()).error, Forbidden)
    assert not is_online(scene)
    assert count_pods(scene) == "7"


async def test_where_the_class_is_gone_the_walls_stay_as_they_are() -> None:
    scene = await make_job()
    scene.drop_class()
    await scene.run()
    assert is_online(scene)
    assert count_pods(scene) == "102"


async def test_a_refused_job_touches_no_namespace_of_others_and_makes_none() -> None:
    scene = await make_job()
    tighten(scene)
    home = scene.look(kinds.NAMESPACE, HOME, "")
    home["metadata"]["labels"][labels.JOB_UID] = "another"
    scene.api.put(kinds.NAMESPACE, home)
    scene.edit(command="no such command")
    await scene.run()
    assert is_online(scene)
    assert count_pods(scene) == "102"

    fresh = await Scene.started(command="no such command")
    assert fresh.api.look(kinds.NAMESPACE, HOME) is None


async def test_a_job_is_told_why_it_is_refused_even_if_its_walls_cannot_be_mended() -> None:
    scene = await make_job()
    scene.edit(command="no such command")
    tighten(scene)
    scene.api.refusal = lambda verb, body: ApiError(500, "InternalError", "broken") if "podSelector" in str(body) else None
    await scene.run()
    assert scene.said(conditions.ADMITTED)[:2] == ("False", conditions.COMMAND_NOT_FOUND)


def add_aged(scene: Scene, name: str, created: str, **spec: Any) -> None:
    """A job of that age, in a namespace with room for one."""
    scene.set_class("Baseline", maxJobsPerNamespace=1)
    job = build_job(name, **spec)
    job["metadata"] |= {"uid": name, "creationTimestamp": created, "finalizers": [labels.FINALIZER]}
    scene.change(kinds.NESTED_APP_JOB, job)


@pytest.mark.parametrize(
    ("young", "reason"), [({}, conditions.TOO_MANY_JOBS), ({"command": "no such command"}, conditions.ADMITTED_REASON)]
)
async def test_a_job_has_its_place_from_its_first_pass_on_unless_it_is_refused(young: Object, reason: str) -> None:
    scene = Scene()
    add_aged(scene, "young", "2026-01-02T00:00:00Z", **young)
    scene.api.refusal = lambda _, body: ApiError(500, "InternalError", "broken") if "status" in body else None
    with pytest.raises(ApiError):
        await scene.run("young")
    scene.api.refusal = lambda *_: None
    add_aged(scene, "old", "2026-01-01T00:00:00Z")
    await scene.run("old")
    assert scene.said(conditions.ADMITTED, "old")[1] == reason


async def test_a_job_says_for_how_long_it_may_run_by_its_class_too_and_while_it_is_refused() -> None:
    scene = Scene()
    scene.set_class("Privileged", maxActiveDeadlineSeconds=3600)
    scene.add_job()

    async def read() -> int | None:
        await scene.run()
        found: int | None = scene.settle()["status"].get("activeDeadlineSeconds")
        return found

    assert await read() == 3600
    scene.edit(activeDeadlineSeconds=60)
    assert await read() == 60
    scene.record(ranSeconds=3570)
    assert await read() == 30, "it ran before"
    scene.settle(status={key: value for key, value in scene.job["status"].items() if key != "ranSeconds"})
    scene.edit(activeDeadlineSeconds=7200)
    assert await read() == 3600, "it is refused, and ends all the same"
    scene.set_class("Privileged")
    scene.edit(activeDeadlineSeconds=None)
    assert await read() is None


@pytest.mark.parametrize("wanted", [None, 7200], ids=["admitted", "refused"])
async def test_a_job_that_has_run_for_as_long_as_its_class_allows_ends(wanted: int | None) -> None:
    scene = Scene()
    scene.set_class("Privileged", maxActiveDeadlineSeconds=3600)
    scene.add_job()
    await scene.run()
    scene.record(ranSeconds=3600)
    scene.edit(activeDeadlineSeconds=wanted)
    await scene.run()
    assert scene.said(conditions.ADMITTED)[0] == ("False" if wanted else "True")
    assert scene.said(conditions.SUCCEEDED)[:2] == ("False", conditions.DEADLINE_EXCEEDED)


LONG_AGO = "2026-01-01T00:00:00Z"


class Fault(RuntimeError):
    """What nobody has thought of."""


async def make_old(**spec: Any) -> Scene:
    """A job that has run since long ago, with a pod."""
    scene = Scene()
    scene.add_job(**spec)
    await scene.run()
    scene.record(startTime=LONG_AGO)
    own = labels.of_job("hello", "team-a", "1234") | {labels.COMPONENT: labels.COMPONENT_APP}
    scene.show(kinds.POD, {"metadata": {"name": "web", "namespace": HOME, "uid": "p", "labels": own}, "spec": {}, "status": {}})
    return scene


def said(scene: Scene, kind: str) -> tuple[str, str]:
    return scene.said(kind)[:2]


def is_stopped(scene: Scene) -> bool:
    """Whether the syncer is told to end the application."""
    cluster = scene.look(kinds.NESTED_CLUSTER, "hello")
    return bool(cluster["spec"].get("suspend"))


PARTS = [
    (reconcile, "keep_policy"),
    (Enforcement, "admit"),
    (admitted, "track_data"),
    (admitted, "decide_lifecycle"),
    (ChildrenKeeper, "ensure"),
    (AdmittedJobs, "_report"),
]
"""What a pass calls, one after the other."""


@pytest.mark.parametrize(("where", "part"), PARTS, ids=[part for _, part in PARTS])
async def test_a_job_ends_at_its_deadline_whatever_part_of_its_pass_fails(
    monkeypatch: pytest.MonkeyPatch, where: Any, part: str
) -> None:
    scene = await make_old(activeDeadlineSeconds=60)

    def fail(*_: Any, **__: Any) -> None:
        raise Fault("the password is 1234")

    async def follow(job: Object) -> None:
        told.append(job["metadata"]["name"])

    told: list[str] = []
    monkeypatch.setattr(where, part, fail)
    monkeypatch.setattr(scene.reconciler.guests[2], "follow", follow)
    result = await scene.run()
    assert isinstance(result.error, Fault)
    assert told == ["hello"]
    assert said(scene, conditions.ADMITTED) == ("False", conditions.INTERNAL_ERROR)
    assert said(scene, conditions.SUCCEEDED) == ("False", conditions.DEADLINE_EXCEEDED)
    assert is_stopped(scene)
    assert "Fault" in str(scene.job["status"])
    assert "1234" not in str(scene.job["status"]["conditions"])

    monkeypatch.undo()
    assert (await scene.run()).error is None
    assert said(scene, conditions.ADMITTED)[0] == "True"


async def test_a_fault_in_what_a_refused_job_may_lose_does_not_keep_it_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await make_old(activeDeadlineSeconds=60)
    scene.edit(command="no such command")

    def fail(*_: Any, **__: Any) -> None:
        raise Fault

    for part in ("apply_size", "build_shape"):
        monkeypatch.setattr(f"nestor.operator.job.children.{part}", fail)
    monkeypatch.setattr("nestor.operator.job.refused.withdraw_lost", fail)
    monkeypatch.setattr(Provisioner, "keep_keys", fail)
    assert isinstance((await scene.run()).error, Fault)
    assert said(scene, conditions.ADMITTED) == ("False", conditions.COMMAND_NOT_FOUND)
    assert said(scene, conditions.SUCCEEDED) == ("False", conditions.DEADLINE_EXCEEDED)
    assert is_stopped(scene)


async def test_an_error_of_the_api_server_may_pass_before_the_job_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await make_old(activeDeadlineSeconds=60)

    async def fail(*_: Any, **__: Any) -> None:
        raise ApiError(500, "InternalError", "failed calling webhook")

    monkeypatch.setattr(reconcile, "keep_policy", fail)
    for _ in range(reconcile.PATIENCE - 1):
        with pytest.raises(ApiError):
            await scene.run()
        assert said(scene, conditions.ADMITTED)[0] == "True"
    assert isinstance((await scene.run()).error, ApiError)
    assert said(scene, conditions.ADMITTED) == ("False", conditions.INTERNAL_ERROR)
    assert is_stopped(scene)
    assert "the API server said: failed calling webhook" in str(scene.job["status"]["conditions"])


@pytest.mark.parametrize(
    "spec",
    [
        {"app": "cannot be read"},
        {"placement": {"nodeLabels": {"x": "y" * 100_000}, "bogus": "z" * 200_000}},
        {"storage": {"size": "1e9999999"}},
    ],
)
async def test_a_job_whose_spec_cannot_be_read_ends_at_its_deadline(spec: dict[str, Any]) -> None:
    scene = await make_old(activeDeadlineSeconds=60)
    scene.edit(**spec)
    await scene.run()
    assert said(scene, conditions.ADMITTED) == ("False", conditions.APPDEF_INVALID)
    assert said(scene, conditions.SUCCEEDED) == ("False", conditions.DEADLINE_EXCEEDED)
    assert is_stopped(scene)
