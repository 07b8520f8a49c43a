"""Condition types and reasons, each with what it means, and how a condition is set; the only place with these words.

A row here is all that the operator's events and the command line need: a new reason is a row and the decision that gives it.
A new condition of a job is decided before `Ready`, which stays last. It also needs a line in docs/users.md, in
`NestedAppJobStatus` (`api/job_status.py`, then `make crds`) and, unless it is a stage, in tests/reference/reasons.py;
refused jobs get theirs in `operator/job/refused.py`. Only stages have events and a line in the clients.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

Status = Literal["True", "False", "Unknown"]
Needs = Literal["user", "admin", "nobody"]
Activity = Literal["waiting", "busy", "retry"]


class Type(str):
    """A condition's type. One with `event` is a stage that a job reaches; `status.timings` then has a field for it."""

    event: str
    """Normal event when it becomes True."""
    words: str
    """What to tell a user who waits for it when it becomes True."""
    reached: str
    """Description of its field in `status.timings`."""

    def __new__(cls, name: str, *, event: str = "", words: str = "", reached: str = "") -> Self:
        self = super().__new__(cls, name)
        self.event, self.words, self.reached = event, words, reached
        return self

    @property
    def timing(self) -> str:
        return self[0].lower() + self[1:]


class Reason(str):
    needs: Needs
    """Who must act. `user`: waiting changes nothing, so `nestor run` ends. `admin`: it may pass, but seldom does.
    Both are told by a Warning event of the reason's name. `nobody`: a stage of an ordinary job, or its end."""
    advice: str
    """What to do about it, for `nestor doctor`."""
    activity: Activity
    """What happens in the meantime, where nobody must act."""
    end_event: str
    """Event when `Succeeded` takes this reason: Normal if the condition is True, otherwise Warning."""

    def __new__(
        cls, name: str, advice: str = "", *, needs: Needs = "nobody", activity: Activity = "waiting", end_event: str = ""
    ) -> Self:
        self = super().__new__(cls, name)
        self.needs, self.advice, self.activity, self.end_event = needs, advice, activity, end_event
        return self


_user, _admin = partial(Reason, needs="user"), partial(Reason, needs="admin")

ADMITTED = Type(
    "Admitted", event="JobAdmitted", words="admitted", reached="The class, version, command and AppDef were accepted."
)
CLUSTER_READY = Type("ClusterReady", event="ClusterProvisioned", words="cluster ready", reached="The nested cluster was ready.")
STEPS_APPLIED = Type("StepsApplied", event="StepsApplied", words="all steps applied", reached="The last step succeeded.")
EXPOSED = Type("Exposed", event="JobExposed", words="exposed", reached="All exposed targets had ready endpoints.")
READY = Type("Ready", event="JobReady", words="ready", reached="All of the above, or the job has succeeded.")
SUCCEEDED = Type("Succeeded")
STALLED = Type("Stalled")
"""Waiting changes nothing. In a status only if True. kstatus reads it and `Ready`, for Helm's `--wait`, Flux and kpt."""
ACCEPTED = Type("Accepted")
"""Of a NestedApp."""
REACHABLE = Type("Reachable")
"""Of an OverflowBackend, by the process of its virtual nodes."""
NETWORK_ENFORCED = Type("NetworkEnforced")
"""Of a NestedClass: whether the host cluster enforces network policies."""
CERTIFIED = Type("Certified")
"""The same; only there while the cluster does not issue a certificate that the process has asked for."""

STAGES = (ADMITTED, CLUSTER_READY, STEPS_APPLIED, EXPOSED)
"""The stages of a job, in the order in which it passes them."""
TIMED = (*STAGES, READY)
"""The stages and their summary."""

# Admitted
ADMITTED_REASON = Reason("Accepted")
PENDING = Reason("Pending", "wait: the operator works on others before it")
CLASS_NOT_FOUND = _user(
    "ClassNotFound",
    "delete the job and create it again with the `className` of an existing class, or ask an admin to create this one",
)
VERSION_UNSUPPORTED = _user(
    "VersionUnsupported", "delete the job and create it again with a listed version, or ask an admin to add yours to the class"
)
CLASS_NOT_PERMITTED = _user(
    "ClassNotPermitted",
    "delete the object and create it again with a `className` that you may use; `kubectl auth can-i use nestedclass/NAME` "
    "checks that",
)
IMAGE_NOT_ALLOWED = _user(
    "ImageNotAllowed",
    "delete the object and create it again with an allowed image, or ask an admin to allow this image in the class",
)
DEADLINE_NOT_ALLOWED = _user(
    "DeadlineNotAllowed",
    "change `activeDeadlineSeconds` to what the class allows, or leave it out, or ask an admin to raise the class's "
    "`maxActiveDeadlineSeconds`",
)
MACHINE_NOT_FOUND = _user("MachineNotFound", "change `machine` to one of the listed machines, or leave it out")
PLACEMENT_NOT_ALLOWED = _user(
    "PlacementNotAllowed", "change `placement` to what the class allows, or ask an admin to allow it in the class"
)
STORAGE_NOT_ALLOWED = _user(
    "StorageNotAllowed", "change `storage` to what the class allows, or ask an admin to allow it in the class"
)
TOO_MANY_JOBS = _admin(
    "TooManyJobs", "delete a job of this class in the namespace, or ask an admin to raise the class's `maxJobsPerNamespace`"
)
QUEUED = Reason("Queued", "wait: the message says for what; an admin can raise the limits of the class's `queue`")
WAITS = (QUEUED, TOO_MANY_JOBS)
"""Reasons of a job that waits for others."""
QUEUE_UNBOUNDED = _admin(
    "QueueUnbounded",
    "an admin can set a quota for that key in the class's `namespace.quota` or its machines, or drop it from `queue.quota`",
)
TOO_LARGE = _user("TooLarge", "change `machine` to a smaller one, or ask an admin to raise `queue.quota` of the class")
QUEUE_NAME_MISSING = _user(
    "QueueNameMissing", "label the job with `kueue.x-k8s.io/queue-name: <LocalQueue>`: its class starts only such jobs"
)
KUEUE_UNAVAILABLE = _admin(
    "KueueUnavailable",
    "an admin can install Kueue and set `kueue.enabled` in the chart's values, or set `queue.kueue: Ignore` in the class",
)
WORKLOAD_CONFLICT = _user(
    "WorkloadConflict", "delete the job and create it again without the label `kueue.x-k8s.io/prebuilt-workload-name`"
)
PRIORITY_NOT_FOUND = _user(
    "PriorityNotFound", "change the label `kueue.x-k8s.io/priority-class` to one of the listed priorities, or remove it"
)
RETAINED_LIMIT = _admin(
    "RetainedLimitReached",
    "ask an admin to delete volumes that earlier jobs of the namespace have left, or to raise the limit in the class",
)
VOLUMES_UNAVAILABLE = _user(
    "VolumesUnavailable",
    "delete the job that has the volumes, or create this one again with the name of a job that has left some in "
    "`storage.volumesFrom`",
)
VOLUMES_PENDING = Reason("VolumesPending", "wait until the host cluster has released the volumes of the earlier job")
COMMAND_NOT_FOUND = _user("CommandNotFound", "delete the job and create it again with one of the listed commands")
APPDEF_INVALID = _user(
    "AppDefInvalid",
    "correct the fields that the message names and apply the job again; `nestor validate FILE` checks a file beforehand",
)
APP_NOT_FOUND = _user(
    "AppNotFound",
    "create the job again with the name of an application that `nestor apps` lists, or ask an admin to add this one to the "
    "catalog; the job then continues automatically",
)
READING_APPDEF = Reason("ReadingAppDef", "wait until the app image is read; a private image needs `imagePullSecretName`")
PARAMETERS_INVALID = _user(
    "ParametersInvalid",
    "correct `spec.parameters`, or the Secret of `spec.parametersFrom`; `nestor apps NAME` lists the command's parameters",
)
TEMPLATES_NOT_FOUND = _user(
    "TemplatesNotFound",
    "create the ConfigMap in the job's namespace, or fix the problem in the message; the job then continues automatically",
)
PULL_SECRET_NOT_FOUND = _user(
    "PullSecretNotFound",
    "create the Secret, of type kubernetes.io/dockerconfigjson, in the namespace that the message names: for an application of "
    "the catalog, an admin must do so; the job then continues automatically",
)
NETWORK_NOT_ENFORCED = _admin(
    "NetworkNotEnforced",
    "nothing keeps this job and others apart: an admin can install a network plugin that enforces NetworkPolicies, or accept it "
    "in the class (`network.unenforced: Accept`)",
)
INPUTS_CHANGED = _user("InputsChanged", "take the changes up with `nestor rerun`, or leave the job unchanged")
# ClusterReady
PROVISIONED = Reason("Provisioned")
PROVISIONING = Reason("Provisioning", activity="busy")
SERVER_NOT_READY = Reason(
    "ServerNotReady",
    "wait; if this does not change, an admin can look at the logs of that pod's containers, in the job's own namespace",
)
SERVER_OUT_OF_MEMORY = _admin(
    "ServerOutOfMemory",
    "if container `syncer` ran out of memory, delete large ConfigMaps, large Secrets and finished pods in the nested cluster, "
    "whose API stays available; for container `k3s`, an admin can raise the class's `cluster.resources`",
)
IMAGE_PULL_FAILED = _admin(
    "ImagePullFailed", "check the image's name, its pull secret, and that the nodes can reach its registry"
)
UNSCHEDULABLE = _admin("Unschedulable", "free capacity on the nodes, or lower the class's `cluster.resources`")
PROVISIONING_FAILED = _admin(
    "ProvisioningFailed", "the message says what the host cluster refuses, or what takes too long; an admin can change the class"
)
INTERNAL_ERROR = _admin(
    "InternalError",
    "undo the last change to the job, or delete it; an admin finds the cause in the operator's log and can report it",
)
# StepsApplied
ALL_STEPS_APPLIED = Reason("AllStepsApplied")
WAITING_FOR_CLUSTER = Reason("WaitingForCluster")
RUNNER_STARTING = Reason("RunnerStarting", activity="busy")
STEP_RUNNING = Reason("StepRunning", activity="busy")
STEP_RETRYING = Reason(
    "StepRetrying", "wait for the next attempt; `nestor logs` shows the output of the last one", activity="retry"
)
STEP_FAILED = _user(
    "StepFailed",
    "correct the template or the AppDef and apply the job again, or run all steps again with `nestor rerun`, which also takes up "
    "a corrected ConfigMap, Secret or entry of the catalog",
    end_event="JobFailed",
)
RUNNER_FAILED = _user("RunnerFailed", "`nestor logs` shows the runner's output; `nestor rerun` starts it again")
# Exposed
INGRESS_READY = Reason("IngressReady")
TARGET_NOT_FOUND = Reason(
    "TargetNotFound", "`service_name` and `service_namespace` of the AppDef's target must name a Service that a step creates"
)
NO_READY_ENDPOINT = Reason(
    "NoReadyEndpoint", "look at the Service's pods in the nested cluster: they are not ready, or its selector does not match them"
)
HOSTNAME_CONFLICT = _user("HostnameConflict", "choose another `expose.host`")
HOST_NOT_ALLOWED = _user(
    "HostNotAllowed", "choose a host below the class's domain, or ask an admin to add yours to the class's `expose.allowedHosts`"
)
GATEWAY_PENDING = Reason("GatewayPending", "wait for the Gateway's controller to answer")
GATEWAY_SILENT = _admin("GatewaySilent", "ask an admin whether the class's Gateway exists and its controller runs")
GATEWAY_UNAVAILABLE = _admin(
    "GatewayUnavailable", "an admin can install Gateway API in the host cluster, or take `expose.gateway` out of the class"
)
GATEWAY_REFUSED = _admin(
    "GatewayRefused",
    "ask an admin to let the Gateway take HTTPRoutes of jobs' namespaces, which have the label `nestor.dev/job` "
    "(`allowedRoutes`), with hosts such as this one",
)
ANNOTATION_NOT_ALLOWED = _user(
    "AnnotationNotAllowed",
    "remove the annotations that the message names from `expose.annotations`, or ask an admin to allow them in the class",
)
INGRESS_REFUSED = _user(
    "IngressRefused",
    "choose another `expose.host` if the message is about it; otherwise an admin can change the class's `expose`",
)
TLS_SECRET_NOT_FOUND = _user("TlsSecretNotFound", "ask an admin to create that Secret in the operator's namespace")
NOT_REQUESTED = Reason("NotRequested")
# Ready
APP_READY = Reason("AppReady")
TERMINATING = Reason("Terminating")
# Succeeded, and Ready of a job that is suspended or has ended
RUNNING = Reason("Running", activity="busy")
SUSPENDED = Reason("Suspended", "resume it with `nestor resume`")
RESUMING = Reason("Resuming")
SERVER_STOPPED = Reason("ServerStopped")
RESTARTING = Reason("Restarting", activity="retry")
FAILURE_IGNORED = Reason("FailureIgnored", end_event="FailureIgnored")
COMPLETED = Reason("Completed", end_event="Completed")
TARGET_FAILED = Reason("TargetFailed", "look at the logs of that object's pods: they are kept", end_event="JobFailed")
DEADLINE_EXCEEDED = Reason(
    "DeadlineExceeded",
    "create it again with a larger `activeDeadlineSeconds`, if its class allows that, or run it again",
    end_event="DeadlineExceeded",
)
RESTARTS_EXHAUSTED = Reason(
    "RestartsExhausted", "the application failed every time; `nestor logs` shows its steps", end_event="JobFailed"
)
# NetworkEnforced
POLICIES_ENFORCED = Reason("PoliciesEnforced")
UNENFORCED_ACCEPTED = Reason("UnenforcedAccepted")
NETWORK_NOT_PROBED = Reason(
    "NetworkNotProbed",
    "an admin can look at the operator's log, and at what the host cluster refuses in namespaces `nestor-probe-…`; where "
    "the probe is off, set `operator.networkProbe` in the chart's values",
)
# Reachable
BACKEND_ANSWERS = Reason("BackendAnswers")
UNREACHABLE = _admin(
    "Unreachable",
    "check the backend's `url`, that the cluster's pods can reach it, and that the server there matches the backend's `type` "
    "and `hop`",
)
UNAUTHORIZED = _admin("Unauthorized", "check the credentials in the Secrets that the backend names")
SECRET_NOT_FOUND = _admin(
    "SecretNotFound", "create the Secret that the message names, with that key, in the operator's namespace"
)
# Ready, of an OverflowBackend
NODES_READY = Reason("NodesReady")
NODES_NOT_READY = Reason("NodesNotReady", "wait; if this does not change, look at the log of the backend's pod")
NODE_CONFLICT = _admin("NodeConflict", "delete the other node of that name, or create the backend again with another `node.name`")
NO_SHAPES = _admin("NoShapes", "set `spec.shapes`: the backend does not report its resources")
NOT_DEPLOYED = Reason(
    "NotDeployed",
    "wait; if this does not change, look at the Deployment `vnode-<backend>` in the operator's namespace, and at the "
    "log of its pod",
)
CERTIFICATE_NOT_ISSUED = _admin(
    "CertificateNotIssued",
    "have the cluster issue certificates for the signer that the message names; some clouds, such as EKS, issue none for nodes "
    "that are not their own machines",
)
BACKEND_INVALID = _admin("BackendInvalid", "correct the fields that the message names")

REASONS: tuple[Reason, ...] = tuple(row for row in globals().values() if isinstance(row, Reason))
_BY_NAME = {str(row): row for row in REASONS}


@dataclass(frozen=True)
class Condition:
    """One condition as decided in this pass; times are added when it is merged into the old ones."""

    type: str
    status: Status
    reason: str
    message: str


def merge(old: Iterable[dict[str, Any]], new: Iterable[Condition], generation: int, time: str) -> list[dict[str, Any]]:
    """The conditions to write: `lastTransitionTime` moves only when the status flips; types not in `new` stay."""
    result = {item["type"]: dict(item) for item in old}
    for condition in new:
        before = result.get(condition.type)
        flipped = before is None or before.get("status") != condition.status
        result[condition.type] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message[:2000],
            "observedGeneration": generation,
            "lastTransitionTime": time if flipped or before is None else before.get("lastTransitionTime", time),
        }
    return list(result.values())


def find(conditions: Iterable[dict[str, Any]] | None, kind: str) -> dict[str, Any] | None:
    return next((item for item in conditions or () if item.get("type") == kind), None)


def is_true(conditions: Iterable[dict[str, Any]] | None, kind: str) -> bool:
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"


def is_reached(condition: Mapping[str, Any]) -> bool:
    """True, and not because the job has succeeded: it may have done so without ever being ready."""
    return bool(condition["status"] == "True" and condition["reason"] != COMPLETED)


def reason_of(condition: Mapping[str, Any] | None) -> Reason:
    """The row of a condition's reason; one without meaning where there is no condition, or another version's word."""
    name = str((condition or {}).get("reason") or "")
    return _BY_NAME.get(name) or Reason(name)
