"""Decides a job's conditions from what is observed. Pure; every line is a row of a table in the tests."""

from dataclasses import dataclass, field
from functools import partial

from nestor.api import conditions, pod_status
from nestor.api.conditions import Condition
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.cluster.exposure.exposed import Exposure, decide_exposed
from nestor.operator.lifecycle.lifecycle import Lifecycle
from nestor.operator.lifecycle.record import KEPT

_cluster, _steps = partial(Condition, conditions.CLUSTER_READY), partial(Condition, conditions.STEPS_APPLIED)
STOPPED = ("Suspending", "Suspended", "Restarting")
WARNING = "warning: "
"""Prefix of each AppDef warning in the message of `Admitted`."""


@dataclass(frozen=True)
class Observed:
    cluster: Object | None = None
    server: Object | None = None
    """The nested cluster's own pod."""
    runner: Object | None = None
    plan_hash: str = ""
    has_app: bool = True
    problem: str | None = None
    """What the host's API server, or a foreign object, prevented."""
    note: str = ""
    """What the user should know even though the cluster is fine."""
    warnings: tuple[str, ...] = ()
    """Warnings about the AppDef of an admitted job."""
    remarks: tuple[tuple[str, str], ...] = ()
    """What else there is to say of an admitted job: reasons and texts."""
    runner_problem: str | None = None
    """Why no new runner is created."""
    held: str | None = None
    """Why one of the application's pods does not start."""
    exposure: Exposure = field(default_factory=Exposure)
    is_overdue: bool = False
    """It should have been ready by now."""

    @property
    def recorded(self) -> Object | None:
        """The runner's recorded progress, whatever its plan."""
        run: Object | None = status_of(self.cluster).get("run")
        return run

    @property
    def run(self) -> Object | None:
        """The runner's recorded progress, if it belongs to this plan."""
        run = self.recorded
        return run if run and run.get("hash") == self.plan_hash else None


def decide_conditions(observed: Observed, life: Lifecycle) -> list[Condition]:
    accepted = "class, version, command and AppDef accepted" if observed.has_app else "class and version accepted"
    texts = [accepted, *(text for _, text in observed.remarks)]
    said = "; ".join([*texts, *(f"{WARNING}{text}" for text in observed.warnings)])
    reason = observed.remarks[0][0] if observed.remarks else conditions.ADMITTED_REASON
    admitted = Condition(conditions.ADMITTED, "True", reason, said)
    ready = decide_cluster_ready(observed, life)
    steps = decide_steps_applied(observed, life, is_cluster_ready=ready.status == "True")
    exposed = decide_exposed(observed.exposure) if observed.has_app else _leave_out(conditions.EXPOSED)
    found = [admitted, ready, steps, exposed]
    return [*found, life.succeeded, *summarize(found, life)]


def summarize(found: list[Condition], life: Lifecycle | None = None) -> tuple[Condition, Condition]:
    """`Stalled` and `Ready`, as kstatus reads them: a job that has succeeded is Ready, and one that has failed is Stalled."""
    ready = _decide_ready(found, life)
    reason = conditions.reason_of({"reason": ready.reason})
    has_failed = life is not None and life.succeeded.status == "False"
    is_stalled = has_failed or (ready.status == "False" and reason.needs == "user")
    message = ready.message if is_stalled else ""
    return Condition(conditions.STALLED, "True" if is_stalled else "False", ready.reason, message), ready


def _decide_ready(found: list[Condition], life: Lifecycle | None) -> Condition:
    """`Ready` repeats `Succeeded` while the job is suspended, restarting or finished; otherwise the first condition not True."""
    told = life.succeeded if life else None
    if told and life and (life.phase == "Finished" or (life.phase in STOPPED and found[0].status == "True")):
        return Condition(conditions.READY, "True" if told.status == "True" else "False", told.reason, told.message)
    for condition in found:
        if condition.status != "True" and condition.reason != conditions.NOT_REQUESTED:
            return Condition(conditions.READY, "False", condition.reason, condition.message)
    if life and life.phase == "Resuming":
        return Condition(conditions.READY, "False", conditions.RESUMING, "its pods are starting again")
    ignored = f"; {told.message}" if told and told.reason == conditions.FAILURE_IGNORED else ""
    return Condition(conditions.READY, "True", conditions.APP_READY, found[-1].message + ignored)


def decide_cluster_ready(observed: Observed, life: Lifecycle) -> Condition:
    """`ClusterReady`: the syncer reports it, and its pod is ready. Otherwise, the pod's own reason is passed on."""
    if observed.problem:
        return _cluster("False", conditions.PROVISIONING_FAILED, observed.problem)
    if (stopped := find_rest(life)) is not None:
        return stopped
    server = observed.server
    said = conditions.find(conditions_of(observed.cluster), conditions.READY)
    if said and said.get("status") == "True" and server and pod_status.is_ready(server):
        version = status_of(observed.cluster).get("kubernetesVersion") or "Kubernetes"
        rest = life.suspend.message if life.suspend and life.phase == "Finished" else ""
        message = "; ".join(filter(None, (f"{version} is up", observed.note, rest)))
        return _cluster("True", conditions.PROVISIONED, message)
    reason, message = _explain_server(server, said)
    if observed.is_overdue and reason not in _TELLING:
        return _cluster("False", conditions.PROVISIONING_FAILED, f"not ready in time: {message}")
    return _cluster("False", reason, message)


def find_rest(life: Lifecycle) -> Condition | None:
    """`ClusterReady` of a cluster whose server is stopped, or is to be; None if it is not."""
    if life.suspend is None or life.replicas:
        return None
    is_suspended = life.phase in ("Suspending", "Suspended")
    return _cluster("False", conditions.SUSPENDED if is_suspended else conditions.SERVER_STOPPED, life.suspend.message)


_TELLING = (conditions.IMAGE_PULL_FAILED, conditions.UNSCHEDULABLE, conditions.SERVER_OUT_OF_MEMORY)
"""Reasons that say more than that it takes too long."""


def _explain_server(server: Object | None, said: Object | None) -> tuple[str, str]:
    if server is None:
        return conditions.PROVISIONING, "the nested cluster's pod is being created"
    name = server["metadata"]["name"]
    if is_terminating(server):
        return conditions.SERVER_NOT_READY, f"pod '{name}' is being replaced"
    if starved := pod_status.find_starved(server):
        said_of = f"pod '{name}', container '{starved}'"
        message = f"{said_of}: it exceeded its memory limit and was killed ({pod_status.OUT_OF_MEMORY})"
        return conditions.SERVER_OUT_OF_MEMORY, message
    if obstacle := pod_status.find_obstacle(server, conditions.SERVER_NOT_READY):
        return obstacle
    if said and said.get("status") == "False" and said.get("message"):
        return conditions.SERVER_NOT_READY, f"pod '{name}': {said['message']}"
    if status_of(server).get("phase") == "Running":
        return conditions.SERVER_NOT_READY, f"pod '{name}' is running but not ready yet"
    return conditions.PROVISIONING, f"pod '{name}' is starting"


def decide_steps_applied(observed: Observed, life: Lifecycle, *, is_cluster_ready: bool) -> Condition:
    """`StepsApplied`: what the runner recorded, or, until that is a result, what holds the runner up."""
    if not observed.has_app:
        return _leave_out(conditions.STEPS_APPLIED)
    has_ended = life.phase == "Finished" and life.succeeded.reason not in KEPT
    run = observed.recorded if has_ended else observed.run
    if run and run.get("state") != "Running":
        return _decide_run(run)
    if has_ended or life.phase in STOPPED:
        return _decide_stopped(run, life)
    if observed.runner_problem:
        return _steps("False", conditions.RUNNER_FAILED, observed.runner_problem)
    if problem := _find_runner_problem(observed.runner):
        return problem
    if run:
        return _decide_run(run)
    if not is_cluster_ready:
        return _steps("False", conditions.WAITING_FOR_CLUSTER, "the steps are waiting for the nested cluster")
    return _steps("False", conditions.RUNNER_STARTING, "the runner is starting")


def _leave_out(stage: conditions.Type) -> Condition:
    """A stage that a job without an application does not pass."""
    message = "the job has no application: it is a cluster, to which its kubeconfig leads"
    return Condition(stage, "False", conditions.NOT_REQUESTED, message)


def _find_runner_problem(runner: Object | None) -> Condition | None:
    if runner is None or is_terminating(runner):
        return None
    if (obstacle := pod_status.find_obstacle(runner, conditions.RUNNER_STARTING)) is None:
        return None
    reason, message = obstacle
    images = [volume["image"].get("reference") for volume in runner["spec"].get("volumes") or () if "image" in volume]
    if images and reason != conditions.UNSCHEDULABLE:
        message += f" (app image '{images[0]}')"  # a volume that the pod's own message does not always name
    return _steps("False", reason, message)


def _find_left(run: Object | None) -> tuple[str, Object]:
    """The first step that is not done: which one it is, and how it is. Both are empty if all are done, or none is known."""
    steps = (run or {}).get("steps") or []
    left = [(number, step) for number, step in enumerate(steps, 1) if step.get("state") != "Succeeded"]
    return next(((f"step {number} of {len(steps)} '{step['name']}'", step) for number, step in left), ("", {}))


def _decide_stopped(run: Object | None, life: Lifecycle) -> Condition:
    where = _find_left(run)[0] or "the first step"
    says = {"Finished": f"the job ended before {where} was done", "Restarting": "the steps start over in an empty cluster"}
    return _steps("False", life.succeeded.reason, says.get(life.phase, f"the job was suspended before {where} was done"))


def _decide_run(run: Object) -> Condition:
    steps = run.get("steps") or []
    if run.get("state") == "Succeeded":
        return _steps("True", conditions.ALL_STEPS_APPLIED, f"{len(steps)} of {len(steps)} steps applied")
    where, step = _find_left(run)
    if not where:
        return _steps("False", conditions.STEP_RUNNING, "the result of the last step is being recorded")
    attempt = f"attempt {step.get('attempt', 0)} of {step.get('maxAttempts', 1)}"
    said = f": {step['message']}" if step.get("message") else ""
    reason, how = {
        "Failed": (conditions.STEP_FAILED, f"failed, {attempt}{said}"),
        "Retrying": (conditions.STEP_RETRYING, f"will be retried, {attempt} failed{said}"),
        "Running": (conditions.STEP_RUNNING, f"is running, {attempt}"),
    }.get(str(step.get("state")), (conditions.STEP_RUNNING, "is next"))
    return _steps("False", reason, f"{where} {how}")
