"""All labels, annotations and finalizers of Nestor, with their meaning; they are spelled out nowhere else."""

GROUP = "nestor.dev"

MANAGED_BY = "app.kubernetes.io/managed-by"
"""`nestor` on every object that Nestor makes in the host cluster."""
JOB = f"{GROUP}/job"
"""Name of the NestedAppJob that an object belongs to."""
JOB_NAMESPACE = f"{GROUP}/job-namespace"
"""Namespace of the NestedAppJob that an object belongs to."""
JOB_UID = f"{GROUP}/job-uid"
"""UID of that NestedAppJob: distinguishes a job from an earlier one of the same name."""
POOL = f"{GROUP}/pool"
"""Label of the namespace of a cluster that waits for a job: digest of what the cluster is made of. It goes when a job gets the
cluster, and never comes back."""
CLUSTER = f"{GROUP}/cluster"
"""Name of the NestedCluster that an object belongs to."""
CLASS = f"{GROUP}/class"
"""On the Secret by which Argo CD knows a job's cluster: name of the job's NestedClass."""
ARGOCD_CLUSTERS = f"{GROUP}/argocd-clusters"
"""Label of the namespace of an Argo CD, `allowed`: the operator may make clusters of jobs known there. Its owner sets it."""

COMPONENT = f"{GROUP}/component"
"""Role of a pod: `server`, `runner`, `reader`, `app` or `vnode`."""

NESTED_NAME = f"{GROUP}/nested-name"
"""Annotation: name of the nested object that a host object represents; in a backend's cluster, of the host pod."""
ISOLATED_INGRESS = f"{GROUP}/isolated-ingress"
"""Label of a host pod whose ingress a NetworkPolicy of its nested cluster isolates: only what such policies let in reaches it."""
ISOLATED_EGRESS = f"{GROUP}/isolated-egress"
"""The same for its egress."""
NESTED_NAMESPACE = f"{GROUP}/nested-namespace"
"""Label and annotation: namespace of the nested object that a host object represents."""
NESTED_UID = f"{GROUP}/nested-uid"
"""Label and annotation: UID of the nested object that a host object represents."""
NESTED_GENERATION = f"{GROUP}/nested-generation"
"""Annotation of a host pod: the generation of the nested pod that is carried over in full."""

PURPOSE = f"{GROUP}/purpose"
"""Label: the purpose of an object that does not represent a single other one: `token` or `service-links` on the host,
`suspended-pod` or `outcome` in a nested cluster; `probe`, `listener` and `caller` are the operator's probe of policies."""
EGRESS_WALL = "egress-wall"
"""Such a purpose: the NetworkPolicy that says what a cluster's pods may connect to. The chart's admission policy reads it."""
NODE_PORTS = f"{GROUP}/node-ports"
"""Label of that policy: whether syncers may open node ports of the cluster's own Services to its pods, at single addresses."""
BUDGETS = f"{GROUP}/budgets"
"""Label of that policy: whether syncers may write PodDisruptionBudgets, which hold up drains of the host's nodes."""

RENEW_AFTER = f"{GROUP}/renew-after"
"""Annotation: when to renew the credentials in a Secret."""
TOKEN_NODE = f"{GROUP}/token-node"
"""Annotation of a Secret with service account tokens: the node that the tokens name; empty if their pod had none yet."""
RETENTION = f"{GROUP}/volume-retention"
"""Label of a job's namespace: what becomes of its volumes when the job is deleted, if they are to stay: `Retain`."""
VOLUMES_FROM = f"{GROUP}/volumes-from"
"""Annotation of a PersistentVolume that a job has got from an earlier one, and of the host claim that has it: that job's name."""
NESTED_DATA = f"{GROUP}/nested-data"
"""Annotation of a host claim: identifies the data of the nested cluster that it was made for. A cluster that loses its data gets
other data.
"""
RESERVED_UNTIL = f"{GROUP}/reserved-until"
"""Annotation of a host Service that was made before its nested one: when it goes if that one never comes."""
MIRRORED = f"{GROUP}/mirrored"
"""Annotation of a nested Node: the labels and taints that it has from the host's; all others are the tenant's own. And whether
it takes pods, and whether the tenant has decided that."""
CONTENT_KEY = f"{GROUP}/content-key"
"""Annotation of a Secret with certificates: hash of what they were issued for."""

PLAN_HASH = f"{GROUP}/plan-hash"
"""Annotation of a runner's pod: the plan that it runs."""
RUNNER_ATTEMPT = f"{GROUP}/runner-attempt"
"""Annotation of a runner's (or reader's) pod: its attempt number, counting all pods for the same plan (or image)."""
SALT = f"{GROUP}/salt"
"""Annotation of the copy of a Secret with parameters: keeps hashes of its values from being guessed."""
APP_IMAGE = f"{GROUP}/app-image"
"""Annotation of a reader's pod: the app image whose AppDef it reads."""

DEFAULT_CLASS = f"nestedclass.{GROUP}/is-default-class"
"""Annotation of a NestedClass, `"true"`: the class of jobs that name none."""
CATALOG = f"{GROUP}/catalog"
"""Label that the owner of a ConfigMap sets to `true` to let NestedApps take their templates from it."""

SERVER_UID = f"{GROUP}/server-uid"
"""Annotation of a NestedCluster: UID of what holds its data, the server's pod or its claim. If it changes, the data is lost."""
DATA_EPOCH = f"{GROUP}/data-epoch"
"""Annotation of a NestedCluster: how often its data was lost. Each time, the templates are applied again."""

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""Label that users set on a NestedAppJob: the LocalQueue in which it waits for Kueue."""
KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""Label that users set on a NestedAppJob: its WorkloadPriorityClass."""
KUEUE_WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
"""Label of a NestedAppJob that MultiKueue sets: the Workload that is there already."""
KUEUE_JOB_UID = "kueue.x-k8s.io/job-uid"
"""Label of a Workload, as Kueue sets it: UID of its job."""
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
"""Value of a job's `managedBy` with which MultiKueue sends it to another cluster."""

MANAGER = f"{GROUP}/operator"
"""Value of a job's `managedBy` that means Nestor, as none does."""
RERUN = f"{GROUP}/rerun"
"""Annotation that users set on a NestedAppJob: a new value runs all its steps again."""
CREATED_BY = f"{GROUP}/created-by"
"""Annotation of a NestedAppJob: the user who created it, as the API server knows them. The chart's policy takes no other name."""
ROTATE = f"{GROUP}/rotate"
"""Annotation that users set on a NestedAppJob: a new value makes all certificates issued so far useless. On the
Secret with the authorities: the value that they were made for."""
WAKE = f"{GROUP}/wake"
"""Annotation that users set on a NestedAppJob: a new value wakes a job that is asleep."""
SUSPENDED_BY = f"{GROUP}/suspended-by"
"""Annotation of a nested Job or CronJob that the syncer suspended and must resume: `nestor`."""

BACKEND = f"{GROUP}/backend"
"""Name of the OverflowBackend that an object belongs to: its virtual nodes, what runs them, and their certificate requests."""
BACKEND_UID = f"{GROUP}/backend-uid"
"""Label of a pod in another cluster: UID of the OverflowBackend that runs it there. Several may share a namespace."""

HOST_UID = f"{GROUP}/host-uid"
"""Label of a pod in another cluster, and of its copies of ConfigMaps and Secrets: UID of the host pod that it runs for."""
HOST_NAMESPACE = f"{GROUP}/host-namespace"
"""Label of such a pod: namespace of the host pod."""
HOST_LABELS = f"{GROUP}/host-labels"
"""Annotation of such a pod: the labels of the host pod, as JSON. Its own are renamed."""
HOST_SPEC = f"{GROUP}/host-spec"
"""Annotation of such a pod: what of the host pod's spec may change, as it was carried last, as JSON. Webhooks there may have made
something else of it.
"""
INPUTS_GATE = f"{GROUP}/inputs"
"""Scheduling gate of such a pod: what it refers to is not all there yet, so it has not run."""

PLACEMENT = f"{GROUP}/placement"
"""Annotation of a host pod: digest of the rules of placement under which it was made; absent if there were none."""
OWN_NODES = f"{GROUP}/own-nodes"
"""Annotation of a host pod: digest of the nodes that the tenant's own labels and taints leave it; absent if they say nothing."""
PLACE = f"{GROUP}/place"
"""Annotation of a host pod that may overflow: `Host`, `HostFirst` or `Backend`."""
PLACE_REASON = f"{GROUP}/place-reason"
"""Annotation of such a pod: why it has that place, if it is not what its class says of all pods."""

GANG = f"{GROUP}/gang"
"""Annotation or label that users set on nested pods: the name of their gang in its namespace. Label of a host pod that is held
for its gang: the gang's key. Name of the scheduling gate that holds it."""
GANG_NAME = f"{GROUP}/gang-name"
"""Annotation of such a host pod: the gang's namespace and name in the nested cluster."""
GANG_SIZE = f"{GROUP}/gang-size"
"""Annotation (or label) of such pods, nested and host: how many pods the gang has to have."""
GANG_ROUND = f"{GROUP}/gang-round"
"""Annotation of a host pod that was let go: in which of its gang's rounds. If that begins another one, the pod is taken back."""

SHAPE = f"{GROUP}/shape"
"""Label of a virtual node: its shape at the backend."""
PRICE = f"{GROUP}/price"
"""Label of a virtual node: its backend's price, a whole number that affinities can compare."""
FROM_BACKEND = f"{GROUP}/from-backend"
"""Annotation of a virtual node: the labels and taints that it has from its backend; all others are somebody else's."""
REMOVED_SINCE = f"{GROUP}/removed-since"
"""Annotation of a virtual node: since when it is being removed, because its shape or its backend is gone."""
PENDING_SECONDS = f"{GROUP}/pending-seconds"
"""Annotation of a host pod: how long a virtual node's backend may leave it Pending before it is taken back."""
BACKEND_RESOURCES = f"{GROUP}/backend-resources"
"""Annotation of a host pod: requests and limits, as JSON, that its containers have at a backend if they set none."""
BACKEND_ANNOTATIONS = f"{GROUP}/backend-annotations"
"""Annotation of a host pod: its nested pod's annotations, as JSON. A backend takes those that its admin allows."""

FINALIZER = f"{GROUP}/cleanup"
"""Keeps a NestedAppJob or OverflowBackend until its last host object is gone."""

COMPONENT_SERVER = "server"
COMPONENT_RUNNER = "runner"
COMPONENT_READER = "reader"
COMPONENT_APP = "app"
COMPONENT_EXPOSURE = "exposure"
COMPONENT_VNODE = "vnode"

_RESERVED = ("nestor.dev", "kubernetes.io", "k8s.io", "x-k8s.io")


def is_ours(key: str) -> bool:
    """Whether a key (or the type of a condition) is of Nestor's domain, where only Nestor writes."""
    domain = key.partition("/")[0] if "/" in key else ""
    return domain == GROUP or domain.endswith(f".{GROUP}")


def is_reserved(key: str) -> bool:
    """True for label and annotation keys that the host or Nestor acts on: tenants may not set them on host objects.

    `app.kubernetes.io/…` only describes an application, so tenants may set it, except for `managed-by`.
    """
    domain = key.partition("/")[0] if "/" in key else ""
    if domain == "app.kubernetes.io":
        return key == MANAGED_BY
    return any(domain == reserved or domain.endswith("." + reserved) for reserved in _RESERVED)


def of_job(name: str, namespace: str, uid: str) -> dict[str, str]:
    return {MANAGED_BY: "nestor", JOB: name[:63], JOB_NAMESPACE: namespace, JOB_UID: uid}


def selector(**pairs: str) -> str:
    """A label selector that matches all `pairs`; the keywords are names of this module's constants in lower case."""
    return ",".join(f"{globals()[key.upper()]}={value}" for key, value in sorted(pairs.items()))
