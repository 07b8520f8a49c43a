"""What the operator observed of a job: the status of a NestedAppJob."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model
from pydantic.alias_generators import to_snake

from nestor.api import conditions
from nestor.api.base import Quota, list_map
from nestor.api.model import Conditions, Model, PodCounts
from nestor.api.nestedclass import SINK_LIMIT
from nestor.api.observed import Steps
from nestor.api.placement_rules import Assigned

_TIMINGS: dict[str, Any] = {
    to_snake(stage): (str | None, Field(None, description=stage.reached, max_length=64)) for stage in conditions.TIMED
}
_Timings: Any = create_model("Timings", __base__=Model, **_TIMINGS)


class Timings(_Timings):
    """When the job first reached each stage (RFC 3339)."""


class TargetStatus(Model):
    """How one of the AppDef's targets can be reached."""

    service_name: str = Field(description="Name of the Service in the nested cluster.", max_length=253)
    service_namespace: str = Field(description="Namespace of the Service in the nested cluster.", max_length=253)
    service_port: int = Field(description="Port of the Service.", ge=0, le=65535)
    url: str | None = Field(
        None,
        description="URL of the target. It answers once `ready` is true. Absent if the target is not exposed.",
        max_length=2048,
    )
    ready: bool = Field(False, description="Whether the URL has a ready endpoint behind it.")
    message: str = Field("", description="Why the target is not ready, or what is unusual about it.", max_length=4096)


class RestartStatus(Model):
    """A restart in an empty nested cluster; in progress until the cluster has reached this data epoch."""

    epoch: int = Field(
        description="Data epoch that the restart begins. A cluster has a new one each time it has lost its data.", ge=0
    )
    time: str = Field(description="When the failure was seen (RFC 3339). The restart begins after a back-off.", max_length=64)
    message: str = Field("", description="Why the application is restarted.", max_length=4096)


class JobPods(PodCounts):
    """Number of pods of a job's application, by state."""

    why: str | None = Field(
        None,
        description="Why one of those that are not running does not start, in the words of what holds it up: the scheduler, "
        "the kubelet, or the backend. Absent if none is held up.",
        max_length=1024,
    )


class QueueStatus(Model):
    """The job's place in a queue."""

    position: int | None = Field(
        None,
        description="Its place in the queue of its class; 1 is next. Absent beyond 100, if Kueue decides, and while the "
        "job's own pods from before are still ending.",
        ge=1,
    )
    since: str = Field(description="When it came to the queue (RFC 3339).", max_length=64)


class SleepStatus(Model):
    """The sleep of a job that was asleep at least once."""

    state: Literal["Asleep", "Waking", "Awake"] = Field(
        description="`Asleep`, `Waking` until the job is ready again, or `Awake` since then."
    )
    since: str = Field(description="When this state began (RFC 3339).", max_length=64)
    generation: int = Field(
        0, description="The job's `metadata.generation` when it was put to sleep. Another one wakes it.", ge=0
    )
    wake: str = Field(
        "", description="What its annotation `nestor.dev/wake` said then. Another value wakes it.", max_length=262144
    )


NoticeType = Literal["Ready", "Succeeded", "Failed"]
MESSAGE_LIMIT = 1000


class NoticeStatus(Model):
    """A notice that is not delivered yet."""

    type: NoticeType = Field(description="`Ready`, `Succeeded` or `Failed`.")
    id: str = Field(description="The event's `id`. It stays the same however often the event is sent.", max_length=253)
    time: str = Field(description="When the job became so (RFC 3339).", max_length=64)
    reason: str = Field("", description="Reason of the job's condition.", max_length=1024)
    message: str = Field("", description="Message of the job's condition.", max_length=MESSAGE_LIMIT)
    sinks: Annotated[list[str], Field(max_length=SINK_LIMIT)] = Field(description="Sinks that have not taken it so far.")


class NestedAppJobStatus(Model):
    """What Nestor observed. Only the operator writes it."""

    # Or kstatus would take a job that nobody has seen for a ready one.
    model_config = ConfigDict(json_schema_extra={"default": {"observedGeneration": -1}})

    conditions: Conditions = Field(
        default_factory=list,
        description=f"{', '.join(f'`{stage}`' for stage in conditions.STAGES)}, `Ready` (the summary of these, and True of a job "
        "that has succeeded), `Succeeded` (whether the job has done what it was created for), and `Stalled`, which is there only "
        "while it is True (the job has failed, or a user or an admin must act).",
    )
    observed_generation: int | None = Field(
        None, description="The `metadata.generation` that this status describes. -1: Nestor has not seen the job yet.", ge=-1
    )
    class_name: str | None = Field(
        None,
        description="The job's class: `spec.className`, or the default class of the time when the job was admitted.",
        max_length=253,
    )
    machine: str | None = Field(
        None, description="The job's machine: `spec.machine`, or the one that it was given.", max_length=253
    )
    gateway: str | None = Field(
        None,
        description="Gateway that serves the job's URLs, as namespace and name. Absent if an Ingress controller does.",
        max_length=512,
    )
    url: str | None = Field(
        None, description="URL of the job's first target. It answers once `Exposed` is True.", max_length=2048
    )
    namespace: str | None = Field(
        None,
        description="The job's own namespace in the host cluster. One that begins with `nestor--` came, with its cluster, "
        "from the pool of the job's class.",
        max_length=63,
    )
    namespace_uid: str | None = Field(
        None,
        alias="namespaceUID",
        description="UID of that namespace. One of the same name with another UID is not the job's.",
        max_length=64,
    )
    argo_cd_namespace: str | None = Field(
        None,
        alias="argoCDNamespace",
        description="Namespace of Argo CD's Secret for the nested cluster, from the class's `argoCD`. The Secret has the name "
        "of the job's own namespace.",
        max_length=253,
    )
    app_digest: str | None = Field(
        None,
        description="Digest of the application that the job was started or rerun with, if it is from the catalog or an image. "
        "Its copy in ConfigMap `<job>-app` of the job's own namespace counts only while it has this digest.",
        max_length=64,
    )
    kubernetes_version: str | None = Field(
        None, description="Version of the nested cluster: first as requested, then as its API server reports it.", max_length=64
    )
    kubeconfig_secret_name: str | None = Field(
        None,
        description="Secret in the job's namespace whose key `kubeconfig` gives admin access to the nested cluster.",
        max_length=253,
    )
    steps: Steps = Field(default_factory=list, description="The steps of the AppDef's command, in order, with their progress.")
    timings: Timings | None = Field(None, description="When each stage was first reached.")
    command: str | None = Field(None, description="The AppDef command that is run.", max_length=253)
    targets: Annotated[
        list[TargetStatus], Field(max_length=64, json_schema_extra=list_map("serviceNamespace", "serviceName", "servicePort"))
    ] = Field(default_factory=list, description="The AppDef's targets, in order.")
    pods: JobPods | None = Field(None, description="Number of pods of the application, by state.")
    next_step: str | None = Field(
        None,
        description="What to do next if the job is blocked or has failed, from the first condition that is the cause. Absent if "
        "there is nothing to do.",
        max_length=1024,
    )
    active_deadline_seconds: int | None = Field(
        None,
        description="How many seconds the job can run, counted from `startTime`: the smaller of its `activeDeadlineSeconds` and "
        "what `ranSeconds` leaves of its class's `maxActiveDeadlineSeconds`. Absent if there is no limit.",
        ge=1,
    )
    ran_seconds: int | None = Field(
        None,
        description="For how many seconds the job ran before `startTime`, until it was suspended or rerun. It starts from "
        "zero when the job is rerun after its end.",
        ge=0,
    )
    start_time: str | None = Field(None, description="When the job started or was last resumed (RFC 3339).", max_length=64)
    completion_time: str | None = Field(None, description="When the job ended, successfully or not (RFC 3339).", max_length=64)
    terminal_state: Literal["Completed", "Failed"] | None = Field(
        None,
        description="For workflow engines that cannot read conditions: `Completed` if the job has succeeded, `Failed` if it has "
        "failed, or is refused before it starts. The job may still get over a failed step when its AppDef changes, and over a "
        "refusal when its cause is gone. Absent otherwise.",
    )
    restarts: int | None = Field(None, description="How often `failurePolicy` has restarted the application.", ge=0)
    restart: RestartStatus | None = Field(None, description="The restart in progress.")
    suspend_time: str | None = Field(None, description="When the job was suspended (RFC 3339).", max_length=64)
    rerun: str | None = Field(
        None, description="Value of the annotation `nestor.dev/rerun` that started this run.", max_length=262144
    )
    queue: QueueStatus | None = Field(None, description="The job's place in a queue. Absent unless it waits in one.")
    asleep: SleepStatus | None = Field(None, description="Whether the job is asleep. Absent if it never was.")
    reserved: Quota | None = Field(
        None,
        description="What the job counts for in the queue of its class, or at Kueue, while it runs, and after that until its "
        "pods are gone: its quota is not higher. Absent where nothing is counted.",
    )
    assigned: Assigned | None = Field(
        None, description="What Kueue has assigned, while the job runs: the nodes of the application's pods."
    )
    notices: Annotated[list[NoticeStatus], Field(max_length=3, json_schema_extra=list_map("type"))] = Field(
        default_factory=list, description="Notices that are still to be delivered to sinks of the class, of each type the latest."
    )
