"""`NestedClass`: the admins' policy for nested clusters, and what it comes to over what its profile says. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from nestor.api.allowances import ArgoCDPolicy, ClassStorage, Devices, ServicesPolicy
from nestor.api.base import HostPattern, ObjectName, Quota, list_map, rule
from nestor.api.class_parts import ClusterPolicy, ImagesPolicy, NamespacePolicy, NetworkPolicyModel
from nestor.api.expose import ExposePolicy
from nestor.api.model import BY_PROFILE, Conditions, Model, Url, ruled
from nestor.api.placement_rules import ClassPlacement
from nestor.api.words import Access

SINK_LIMIT = 8


class ClassQueue(Model):
    """How many jobs run at a time, and in which order the others wait."""

    model_config = ruled(
        rule(
            "!has(self.kueue) || self.kueue == 'Ignore' || !(has(self.maxJobs) || has(self.quota))",
            "`maxJobs` and `quota` may be set only if `kueue` is 'Ignore': one queue decides",
        )
    )

    max_jobs: int | None = Field(
        None,
        description="How many jobs of the class run at a time. Those that have ended or are suspended do not count once "
        "their pods are gone; those whose steps failed do while they are kept for inspection, until they are deleted or "
        "suspended. 0: no further job starts. Jobs that run are never stopped. If not set, there is no limit.",
        ge=0,
        le=100_000,
    )
    quota: Quota | None = Field(
        None,
        description="What the jobs that run may have together, with the keys of a ResourceQuota: `requests.cpu`, "
        "`requests.nvidia.com/gpu`, `pods` and so on. Each job counts with its quota, that is, with what it may use: that of its "
        "machine, or of the class's `namespace.quota`. A key for which a job has no quota keeps it from starting. What its "
        "nested cluster's own pods need comes on top. A job that gets another machine while it runs counts with, and has at "
        "most, what it started with, until it is suspended. If not set, there is no limit.",
    )
    kueue: Literal["Ignore", "Allow", "Require"] = Field(
        "Ignore",
        description="Whether Kueue decides when jobs start; it must be installed, and the chart's `kueue.enabled` set. `Ignore`: "
        "it does not, and the status of a job with the label `kueue.x-k8s.io/queue-name` reports it. `Allow`: jobs with that "
        "label wait for Kueue, the others start at once. `Require`: jobs without it are refused. Defaults to `Ignore`.",
    )


class Sink(Model):
    """A server that takes notices. Only admins name it: the operator would connect for users to whatever it can reach."""

    model_config = ruled(
        rule("self.url.startsWith('https://') || !has(self.secretName)", "`url` must be an https URL if there is `secretName`")
    )

    name: ObjectName = Field(description="Name, as in a job's `status.notices`.")
    url: Url = Field(
        description="URL that notices are sent to by POST, without redirects and never to link-local or loopback addresses."
    )
    secret_name: ObjectName | None = Field(
        None,
        description="Secret of the operator's namespace, read for each notice. Its key `token` is sent as `Authorization: "
        "Bearer …`, or unchanged in the header that `header` names; `ca.crt` has the authorities to trust (PEM), if not the "
        "system's. All three are optional.",
    )


Sinks = Annotated[list[Sink], Field(max_length=SINK_LIMIT, json_schema_extra=list_map("name"))]


class NestedClassSpec(Model):
    """The policy."""

    profile: Literal["Evaluation", "Tenants", "Trusted"] = Field(
        "Tenants",
        description="For whom the class is: what is right for them is the default of other fields. What the class says itself "
        "goes first, in maps such as `namespace.quota` key by key; `status.effective` shows what comes of it. `Tenants`: people "
        "who need not trust each other. A job has 8 CPUs and 32Gi of memory, runs for 7 days at most, and always pulls its "
        "images; a namespace has 20 jobs; where NetworkPolicies are not enforced, there is none. `Evaluation`: to try Nestor on "
        "any host, without limits of CPU, memory and time. `Trusted`: people whom you trust with the nodes. Pods may be "
        "privileged and connect to private addresses; volumes may have 1Ti. Defaults to `Tenants`.",
    )
    cluster: ClusterPolicy = Field(
        default_factory=ClusterPolicy, description="The nested clusters: their versions, server and data."
    )
    namespace: NamespacePolicy = Field(
        default_factory=NamespacePolicy, description="The namespace that each job gets in the host cluster."
    )
    network: NetworkPolicyModel = Field(default_factory=NetworkPolicyModel, description="What the application may connect to.")
    services: ServicesPolicy = Field(
        default_factory=ServicesPolicy, description="What Services of jobs may do in addition to connecting their own pods."
    )
    expose: ExposePolicy = Field(default_factory=ExposePolicy, description="How jobs are exposed.")
    template_hosts: Annotated[list[HostPattern], Field(max_length=64)] | None = Field(
        None,
        description="Hosts from which steps may take templates (`format: url`) and Helm charts: host names, or "
        "`*.example.com` for all hosts below example.com. The node, the cloud's metadata address and the host cluster's API "
        "server are never allowed. This is no boundary: scripts (type `custom`) and the application's own pods connect to "
        "all that `network` allows. An empty list allows none. If not set, all are allowed.",
    )
    max_jobs_per_namespace: int = Field(
        50,
        description="How many jobs of the class one namespace may have, finished ones included. Further jobs wait until one is "
        "deleted, in the order of their creation. Jobs that were admitted before the limit was set or lowered keep running. "
        "Defaults to 20; to 50 under `profile: Evaluation`, and 200 under `Trusted`.",
        ge=0,
        le=100_000,
        json_schema_extra=BY_PROFILE,
    )
    pool: int = Field(
        0,
        description="How many ready clusters wait for jobs. A job keeps the one that it gets. It gets a new one if none is ready,"
        " if it wants another Kubernetes version than the default or volumes of an earlier job "
        "(`storage.volumesFrom`), or if Kueue has admitted it. With `cluster.persistence`, there is no pool. Waiting "
        "clusters have nothing of a user, count for no quota or limit of jobs, and take what an idle cluster takes. "
        "They are made one at a time while no job starts, deleted while new pods of jobs lack CPU or memory, and "
        "replaced after a day and when the class makes clusters differently. Defaults to 0.",
        ge=0,
        le=50,
    )
    queue: ClassQueue = Field(
        default_factory=ClassQueue, description="How many jobs run at a time, and in which order the others wait."
    )
    access: Access = Field(
        "Everyone",
        description="Who may create and change jobs of this class. `Everyone`: all users who may write jobs. `Permitted`: "
        "only those of them who also have the verb `use` on this NestedClass, in the cluster or in the object's namespace. "
        "The chart's ValidatingAdmissionPolicy checks this when the object is created or changed, and not later: users who "
        "lose the right keep what runs, as do objects from before the class required it. A job must then name the class: it "
        "is not given to jobs that leave out `className`. Defaults to `Everyone`.",
    )
    max_active_deadline_seconds: int | None = Field(
        None,
        description="For how many seconds a job may run. A job with a longer `activeDeadlineSeconds` is refused. Unlike "
        "`activeDeadlineSeconds`, this counts the whole time that a job has run, also before it was suspended or rerun, and "
        "while it is kept for inspection after a failed step; only the rerun of a job that has ended starts from zero, "
        "because it waits in the queue like a new one. Pods of a stopped job have ten more minutes to end, regardless of "
        "their grace period. A change applies to running jobs, too. Defaults to 604800, 7 days; under `profile: Evaluation` "
        "and `Trusted`, there is no limit.",
        ge=1,
        le=315_360_000,
    )
    max_ttl_seconds_after_finished: int | None = Field(
        None,
        description="How many seconds after its end a job is deleted at the latest: one whose `ttlSecondsAfterFinished` is "
        "longer, or not set, after so long. A change applies to jobs that have ended, too. If not set, they stay.",
        ge=0,
        le=315_360_000,
    )
    max_idle_seconds: int | None = Field(
        None,
        description="After how many idle seconds a job with URLs is put to sleep at the latest: one whose `idleSeconds` is "
        "longer, or not set, after so long. Needs `activator.enabled` in the values of Nestor's chart. If not set, jobs sleep "
        "only if they set `idleSeconds`.",
        ge=30,
        le=315_360_000,
    )
    images: ImagesPolicy = Field(default_factory=ImagesPolicy, description="Which images jobs may use, and how they are pulled.")
    placement: ClassPlacement | None = Field(
        None,
        description="Where the pods of jobs may run. If not set: on all nodes without taints that suit them, and on no backend.",
    )
    storage: ClassStorage | None = Field(None, description="The persistent volumes of jobs. If not set, there are none.")
    devices: Devices | None = Field(
        None,
        description="The devices that jobs may have by dynamic resource allocation (ResourceClaims). Hosts of Kubernetes 1.34 "
        "and later have it. If not set, there are none.",
    )
    notices: Sinks = Field(
        default_factory=list, description="Servers that are notified when jobs become ready or end. If not set, there are none."
    )
    argo_cd: ArgoCDPolicy | None = Field(
        None,
        alias="argoCD",
        description="Registers jobs' nested clusters with an Argo CD in the host cluster. A change applies to running jobs. "
        "If not set, Argo CD does not know them.",
    )


class PoolMember(Model):
    """A cluster that waits for a job."""

    namespace: str = Field(description="Its namespace in the host cluster.", max_length=63)
    uid: str = Field(description="UID of that namespace. One of the same name with another UID is not Nestor's.", max_length=64)
    ready: bool = Field(False, description="Whether a job can get it.")


class NestedClassStatus(Model):
    """What the operator found out that matters to jobs of the class. Only the operator writes it."""

    conditions: Conditions = Field(
        default_factory=list,
        description="`NetworkEnforced`: whether the host cluster enforces NetworkPolicies, which keep jobs apart from each other "
        "and from the host. `False` with reason `UnenforcedAccepted` where `network.unenforced` accepts that it does not.",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
    effective: dict[str, Any] | None = Field(
        None,
        description="The whole class: the fields of `spec`, with what its profile and the operator say where it says nothing.",
    )
    pool: Annotated[list[PoolMember], Field(max_length=64, json_schema_extra=list_map("namespace"))] = Field(
        default_factory=list, description="The clusters that wait for jobs."
    )


PROFILES: Final[Mapping[str, dict[str, Any]]] = {
    "Evaluation": {},  # what the fields say themselves
    "Tenants": {
        "maxJobsPerNamespace": 20,
        "maxActiveDeadlineSeconds": 7 * 24 * 3600,
        "namespace": {"quota": {"cpu": 8, "memory": "32Gi"}},
        "network": {"unenforced": "Refuse"},
        "images": {"alwaysPull": True},
    },
    "Trusted": {
        "maxJobsPerNamespace": 200,
        "namespace": {"podSecurity": "Privileged", "quota": {"storage": "1Ti"}},
        "network": {"privateRanges": [], "unenforced": "Accept"},
    },
}


def resolve_class(spec: Mapping[str, Any], versions: Sequence[str] | None = None) -> NestedClassSpec:
    """The whole class. `versions`: those that the operator has, the highest last; None if that is not known."""
    base = PROFILES.get(str(spec.get("profile", "Tenants")), {})
    found = NestedClassSpec.model_validate(_merge(base, spec))
    if versions is None:
        return found
    offered = [item for item in found.cluster.versions or reversed(versions) if item in versions]
    return found.model_copy(update={"cluster": found.cluster.model_copy(update={"versions": offered})})


def write_effective(spec: NestedClassSpec) -> dict[str, Any]:
    """For the status of the class. Without empty maps: server-side apply would leave null where their last key goes."""
    found: dict[str, Any] = _trim(spec.model_dump(by_alias=True, exclude_none=True))
    return found


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are merged key by key; all else is replaced."""
    both = {key: _merge(base[key], over[key]) for key in base.keys() & over.keys() if _are_maps(base[key], over[key])}
    return {**base, **over, **both}


def _are_maps(*values: object) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def _trim(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _trim(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item != {}}
    return [_trim(item) for item in value] if isinstance(value, list) else value
