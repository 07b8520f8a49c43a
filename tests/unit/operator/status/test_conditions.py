"""The table of a job's conditions; and what a class says it comes to."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import status_of
from nestor.kube import NotFound, kinds
from nestor.operator.guest import Guest
from nestor.operator.lifecycle.lifecycle import Lifecycle
from nestor.operator.lifecycle.suspend import SuspendState
from nestor.operator.status.conditions import Observed, decide_cluster_ready, decide_conditions, decide_steps_applied, summarize
from nestor.operator.status.report import reconcile_class
from tests.unit.operator.builders import READY, Object, build_cluster, build_life, build_pod, build_run, step, waiting
from tests.unit.operator.scene import Scene

UNSCHEDULABLE: Object = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}],
}


ENDED: Object = {
    "phase": "Running",
    "containerStatuses": [
        {"name": "k3s", "image": "x", "ready": False, "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
    ],
}


def starved(container: str, state: Object, *, ready: bool = False) -> Object:
    """A pod's status with a container that was ended for want of memory."""
    last = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    found = {"name": container, "image": "x", "ready": ready, "restartCount": 1, "state": state, "lastState": last}
    return {"phase": "Running", "containerStatuses": [found]}


@pytest.mark.parametrize(
    ("observed", "status", "reason", "message"),
    [
        (Observed(), "False", conditions.PROVISIONING, "being created"),
        (Observed(server=build_pod()), "False", conditions.PROVISIONING, "'hello-k3s-0' is starting"),
        (Observed(server=build_pod(status={"phase": "Running"})), "False", conditions.SERVER_NOT_READY, "not ready yet"),
        (Observed(server=build_pod(status=waiting("ContainerCreating"))), "False", conditions.PROVISIONING, "is starting"),
        (Observed(server=build_pod(status=waiting("ImagePullBackOff", "no such tag"))), "False", conditions.IMAGE_PULL_FAILED,
         "pod 'hello-k3s-0', container 'k3s': ImagePullBackOff: no such tag"),
        (Observed(server=build_pod(status=waiting("CrashLoopBackOff", "back-off 10s"))), "False", conditions.SERVER_NOT_READY,
         "CrashLoopBackOff: back-off 10s"),
        (Observed(server=build_pod(status=starved("syncer", {"running": {}})), cluster=build_cluster()), "False",
         conditions.SERVER_OUT_OF_MEMORY,
         "pod 'hello-k3s-0', container 'syncer': it exceeded its memory limit and was killed (OOMKilled)"),
        (Observed(server=build_pod(status=starved("k3s", {"waiting": {"reason": "CrashLoopBackOff"}})), is_overdue=True),
         "False", conditions.SERVER_OUT_OF_MEMORY, "container 'k3s': it exceeded its memory"),
        (Observed(server=build_pod(status=ENDED), cluster=build_cluster()), "False", conditions.SERVER_OUT_OF_MEMORY,
         "container 'k3s': it exceeded its memory"),
        (Observed(server=build_pod(status=starved("syncer", {"running": {}}, ready=True)), cluster=build_cluster()), "False",
         conditions.SERVER_NOT_READY, "is running but not ready yet"),
        (Observed(server=build_pod(status=UNSCHEDULABLE)), "False", conditions.UNSCHEDULABLE, "0/3 nodes are available"),
        (Observed(server=build_pod(status=READY), cluster=build_cluster()), "True", conditions.PROVISIONED, "k3s1 is up"),
        (Observed(server=build_pod(status=READY), cluster=build_cluster(), note="no kubeconfig"), "True",
         conditions.PROVISIONED, "v1.36.2+k3s1 is up; no kubeconfig"),
        (Observed(server=build_pod(status={"phase": "Running"}), cluster=build_cluster()), "False", conditions.SERVER_NOT_READY,
         "is running but not ready yet"),
        (Observed(server=build_pod(status=READY), cluster=build_cluster(is_ready=False)), "False", conditions.SERVER_NOT_READY,
         "the API does not answer"),
        (Observed(server=build_pod(status=READY, deletionTimestamp="x"), cluster=build_cluster()), "False",
         conditions.SERVER_NOT_READY, "is being replaced"),
        (Observed(cluster=build_cluster()), "False", conditions.PROVISIONING, "being created"),
        (Observed(is_overdue=True), "False", conditions.PROVISIONING_FAILED, "not ready in time: "),
        (Observed(server=build_pod(status=waiting("ErrImagePull")), is_overdue=True), "False", conditions.IMAGE_PULL_FAILED, ""),
        (Observed(problem="exceeded quota"), "False", conditions.PROVISIONING_FAILED, "exceeded quota"),
    ],
)  # fmt: skip
def test_cluster_ready(observed: Observed, status: str, reason: str, message: str) -> None:
    condition = decide_cluster_ready(observed, build_life())
    assert (condition.type, condition.status, condition.reason) == (conditions.CLUSTER_READY, status, reason)
    assert message in condition.message


def with_run(run: Object) -> Observed:
    return Observed(cluster=build_cluster(run=run), plan_hash="h")


UNPULLED = build_pod("hello-run", status=waiting("ImagePullBackOff", "Back-off"))
UNPULLED["spec"]["volumes"] = [{"name": "app", "image": {"reference": "registry.test/hello:1"}}]
GOES_ON = with_run(build_run("Running", step("a", "Succeeded"), step("b", "Running")))
IS_DONE = with_run(build_run("Succeeded", step("a", "Succeeded"), step("b", "Succeeded")))
HAS_FAILED = with_run(build_run("Failed", step("a", "Succeeded"), step("b", "Failed")))


@pytest.mark.parametrize(
    ("observed", "status", "reason", "message"),
    [
        (Observed(), "False", conditions.RUNNER_STARTING, "is starting"),
        (with_run(build_run("Succeeded", step("a", "Succeeded"), step("b", "Succeeded"))), "True", conditions.ALL_STEPS_APPLIED,
         "2 of 2 steps applied"),
        (with_run(build_run("Running", step("a", "Running"))), "False", conditions.STEP_RUNNING,
         "step 1 of 1 'a' is running, attempt 1 of 3"),
        (with_run(build_run("Running", step("a", "Succeeded"), step("b", "Retrying", 2, 3, "exit code 1"))), "False",
         conditions.STEP_RETRYING, "step 2 of 2 'b' will be retried, attempt 2 of 3 failed: exit code 1"),
        (with_run(build_run("Failed", step("a", "Failed", 3, 3, "refused"), step("b", "Pending", 0))), "False",
         conditions.STEP_FAILED, "step 1 of 2 'a' failed, attempt 3 of 3: refused"),
        (with_run(build_run("Running", step("a", "Pending", 0))), "False", conditions.STEP_RUNNING, "step 1 of 1 'a' is next"),
        (with_run(build_run("Running", step("a", "Succeeded"))), "False", conditions.STEP_RUNNING, "is being recorded"),
        (with_run(build_run("Succeeded", step("a", "Succeeded"), plan_hash="old")), "False", conditions.RUNNER_STARTING, ""),
        (Observed(runner_problem="ended 6 times"), "False", conditions.RUNNER_FAILED, "ended 6 times"),
        (Observed(runner=build_pod("hello-run", status=waiting("ErrImagePull", "nope"))), "False", conditions.IMAGE_PULL_FAILED,
         "pod 'hello-run', container 'k3s': ErrImagePull: nope"),
        (Observed(runner=UNPULLED), "False", conditions.IMAGE_PULL_FAILED, "Back-off (app image 'registry.test/hello:1')"),
        (Observed(runner=build_pod("hello-run", status=UNSCHEDULABLE)), "False", conditions.UNSCHEDULABLE, "0/3 nodes"),
        # What keeps the runner from going on is told before what it once recorded, unless that is a result.
        (replace(GOES_ON, runner_problem="ended 6 times"), "False", conditions.RUNNER_FAILED, "ended 6 times"),
        (replace(GOES_ON, runner=build_pod("hello-run", status=waiting("ErrImagePull"))), "False", conditions.IMAGE_PULL_FAILED,
         "ErrImagePull"),
        (replace(GOES_ON, runner=build_pod("hello-run", status={"phase": "Running"})), "False", conditions.STEP_RUNNING, "'b'"),
        (replace(IS_DONE, runner_problem="ended 6 times"), "True", conditions.ALL_STEPS_APPLIED, ""),
        (replace(IS_DONE, runner=build_pod("hello-run", status=waiting("ErrImagePull"))), "True", conditions.ALL_STEPS_APPLIED,
         "2 of 2"),
    ],
)  # fmt: skip
def test_steps_applied(observed: Observed, status: str, reason: str, message: str) -> None:
    condition = decide_steps_applied(observed, build_life(), is_cluster_ready=True)
    assert (condition.type, condition.status, condition.reason) == (conditions.STEPS_APPLIED, status, reason)
    assert message in condition.message


def test_steps_wait_for_the_cluster_before_anything_else_is_known() -> None:
    assert decide_steps_applied(Observed(), build_life(), is_cluster_ready=False).reason == conditions.WAITING_FOR_CLUSTER


SUSPENDED = build_life("Suspended", conditions.SUSPENDED, "suspended: data kept", suspend=SuspendState("data kept", replicas=0))
RESTING = build_life("Suspending", conditions.SUSPENDED, "suspended: 2 left", suspend=SuspendState("2 left"))
COMPLETED = build_life("Finished", conditions.COMPLETED, "Job 'pi' is complete", suspend=SuspendState("control plane runs on"))
EXCEEDED = build_life(
    "Finished", conditions.DEADLINE_EXCEEDED, "ran longer", suspend=SuspendState("its data is kept", replicas=0)
)
FAILED = build_life("Finished", conditions.STEP_FAILED, "step 'b' failed")
RESTARTS = build_life("Restarting", conditions.RESTARTING, "restart 1 of 3", is_stopped=True)
OTHER_PLAN = replace(GOES_ON, plan_hash="another")


@pytest.mark.parametrize(
    ("observed", "life", "status", "reason", "message"),
    [
        (GOES_ON, SUSPENDED, "False", conditions.SUSPENDED, "suspended before step 2 of 2 'b' was done"),
        (GOES_ON, RESTING, "False", conditions.SUSPENDED, "suspended before step 2 of 2 'b' was done"),
        (Observed(), SUSPENDED, "False", conditions.SUSPENDED, "suspended before the first step was done"),
        (replace(GOES_ON, runner_problem="ended 6 times"), SUSPENDED, "False", conditions.SUSPENDED, ""),
        (IS_DONE, SUSPENDED, "True", conditions.ALL_STEPS_APPLIED, "2 of 2"),
        (IS_DONE, COMPLETED, "True", conditions.ALL_STEPS_APPLIED, "2 of 2"),
        (replace(IS_DONE, plan_hash="another"), COMPLETED, "True", conditions.ALL_STEPS_APPLIED, "2 of 2"),
        (GOES_ON, EXCEEDED, "False", conditions.DEADLINE_EXCEEDED, "the job ended before step 2 of 2 'b' was done"),
        (OTHER_PLAN, EXCEEDED, "False", conditions.DEADLINE_EXCEEDED, "before step 2 of 2 'b'"),
        (HAS_FAILED, FAILED, "False", conditions.STEP_FAILED, "step 2 of 2 'b' failed"),
        (HAS_FAILED, RESTARTS, "False", conditions.STEP_FAILED, "'b' failed"),
        (GOES_ON, RESTARTS, "False", conditions.RESTARTING, "the steps start over in an empty cluster"),
    ],
)
def test_steps_of_a_job_at_rest_say_where_they_stopped(
    observed: Observed, life: Lifecycle, status: str, reason: str, message: str
) -> None:
    condition = decide_steps_applied(observed, life, is_cluster_ready=False)
    assert (condition.status, condition.reason) == (status, reason)
    assert message in condition.message


@pytest.mark.parametrize(
    ("life", "status", "reason", "message"),
    [
        (SUSPENDED, "False", conditions.SUSPENDED, "data kept"),
        (EXCEEDED, "False", conditions.SERVER_STOPPED, "its data is kept"),
        (RESTING, "True", conditions.PROVISIONED, "is up"),
        (COMPLETED, "True", conditions.PROVISIONED, "is up"),
    ],
)
def test_a_stopped_control_plane_says_what_is_kept(life: Lifecycle, status: str, reason: str, message: str) -> None:
    condition = decide_cluster_ready(Observed(server=build_pod(status=READY), cluster=build_cluster()), life)
    assert (condition.status, condition.reason) == (status, reason)
    assert message in condition.message


@pytest.mark.parametrize(
    ("life", "status", "reason", "message"),
    [
        (build_life(), "True", conditions.APP_READY, "the AppDef names no target"),
        (build_life(reason=conditions.FAILURE_IGNORED, message="ignores this: Job 'x'"), "True", conditions.APP_READY,
         "; ignores this: Job 'x'"),
        (build_life("Resuming"), "False", conditions.RESUMING, "starting again"),
        (SUSPENDED, "False", conditions.SUSPENDED, "suspended: data kept"),
        (RESTING, "False", conditions.SUSPENDED, "suspended: 2 left"),
        (RESTARTS, "False", conditions.RESTARTING, "restart 1 of 3"),
        (COMPLETED, "True", conditions.COMPLETED, "Job 'pi' is complete"),
        (EXCEEDED, "False", conditions.DEADLINE_EXCEEDED, "ran longer"),
    ],
)  # fmt: skip
def test_the_status_column_says_what_the_jobs_life_is(life: Lifecycle, status: str, reason: str, message: str) -> None:
    observed = replace(IS_DONE, server=build_pod(status=READY))
    found = {item.type: item for item in decide_conditions(observed, life)}
    assert found[conditions.SUCCEEDED] == life.succeeded
    ready = found[conditions.READY]
    assert (ready.status, ready.reason) == (status, reason)
    assert message in ready.message


@pytest.mark.parametrize(
    ("life", "reason"),
    [(build_life(), conditions.CLASS_NOT_FOUND), (SUSPENDED, conditions.CLASS_NOT_FOUND), (COMPLETED, conditions.COMPLETED)],
)
def test_a_refused_job_says_why_unless_it_has_ended(life: Lifecycle, reason: str) -> None:
    refused = Condition(conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND, "no class")
    assert summarize([refused], life)[1].reason == reason


@pytest.mark.parametrize(("unenforced", "reason"), [("", "Accepted"), ("no walls", "NetworkNotEnforced")])
def test_a_job_says_that_nothing_keeps_it_apart_and_is_as_ready_as_before(unenforced: str, reason: str) -> None:
    found = decide_conditions(Observed(remarks=((reason, unenforced),) if unenforced else (), warnings=("odd",)), build_life())
    admitted, ready = found[0], found[-1]
    assert (admitted.status, admitted.reason) == ("True", reason)
    assert admitted.message.endswith(f"{unenforced}; warning: odd" if unenforced else "accepted; warning: odd")
    assert ready.reason == conditions.PROVISIONING


class Judge(Guest):
    """Says one thing of all classes."""

    said: Condition | None = None

    def judge(self, item: Object, policy: NestedClassSpec) -> Condition | None:
        return self.said


class Court:
    """A class, and who judges it."""

    def __init__(self) -> None:
        self.scene = Scene()
        (item,) = self.scene.context.cache.classes
        self.scene.change(kinds.NESTED_CLASS, item)
        self.scene.change(kinds.NESTED_CLASS, item | {"spec": {}})
        self.judge = Judge(self.scene.context)

    async def reconcile(self, name: str = "default") -> Object:
        """The status after a pass, and whether it was written."""
        await reconcile_class(self.scene.context, [Guest(self.scene.context), self.judge], name)
        return status_of(self.scene.api.look(kinds.NESTED_CLASS, name))


async def test_an_empty_class_is_all_that_its_profile_and_the_operator_say() -> None:
    status = await Court().reconcile()
    assert status.keys() == {"effective", "observedGeneration"}
    effective = status["effective"]
    assert effective["profile"] == "Tenants"
    assert effective["cluster"] == {"versions": ["v1.37", "v1.36", "v1.9"], "nodes": "InUse", "stopEndedAfterSeconds": 600}
    assert effective["namespace"] == {"podSecurity": "Baseline", "quota": {"requests.cpu": 8, "requests.memory": "32Gi"}}
    assert "storage" not in effective


async def test_it_is_written_when_something_changes_and_only_then() -> None:
    court = Court()
    first = await court.reconcile()
    asked = len(court.scene.api.asked)
    assert await court.reconcile() == first
    assert len(court.scene.api.asked) == asked
    court.judge.said = Condition("NetworkEnforced", "False", "NetworkNotEnforced", "x")
    (found,) = (await court.reconcile())["conditions"]
    assert (found["type"], found["status"], found["reason"]) == ("NetworkEnforced", "False", "NetworkNotEnforced")
    court.judge.said = None
    (kept,) = (await court.reconcile())["conditions"]
    assert kept == found, "nothing new is known"


async def test_what_is_no_class_has_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    court = Court()
    assert await court.reconcile("unknown") == {}

    async def apply(*_: Any, **__: Any) -> Object:
        raise NotFound(404, "NotFound", "gone")

    monkeypatch.setattr(court.scene.api, "apply", apply)
    assert await court.reconcile() == {}
