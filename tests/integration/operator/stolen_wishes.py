"""What a thief of the operator's token tries with what users wish, and with Kueue's Workloads, as data: see `stolen.py`."""

from nestor.api import labels
from nestor.kube import kinds
from tests.integration.operator import kueue
from tests.integration.operator.stolen import GONE, STAYS, STRANGER, USER, Attack, Object

STATUS_ONLY = "the status and its own finalizer"
ONLY_OWN, MADE_FOR_ONE = "Workloads of its own jobs only", "only if it was made for one"


def refer(uid: str = "gone") -> Object:
    """A job as an owner, by default one that is not there."""
    return {
        "apiVersion": kinds.NESTED_APP_JOB.api_version,
        "kind": "NestedAppJob",
        "name": "theirs",
        "uid": uid,
        "controller": True,
    }


def workload(*sets: str) -> Object:
    """What asks Kueue for a pod in each of these sets."""
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    return {"queueName": "batch", "podSets": [{"name": name, "count": 1, "template": pod} for name in sets]}


def admitted(*sets: str) -> Object:
    """What Kueue says by which such a Workload may run."""
    return {
        "status": {
            "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": name, "count": 1} for name in sets]},
            "conditions": [kueue.say(kind, "True", kind) for kind in ("QuotaReserved", "Admitted")],
        }
    }


SETS = ("control-plane", "runner", "app")

WISHES = (
    Attack("job-changed", "to change a job", "patch", kinds.NESTED_APP_JOB, "theirs", USER, "what users wish",
           {"spec": {"suspend": True}}),
    Attack("job-deleted", "to delete a job that has no time to live", "delete", kinds.NESTED_APP_JOB, "theirs", USER,
           "with a `ttlSecondsAfterFinished` only"),
    Attack("job-orphaned", "to have a job deleted, by an owner that is not there", "patch", kinds.NESTED_APP_JOB, "theirs", USER,
           STATUS_ONLY, {"metadata": GONE}),
    Attack("job-stays", "a finalizer that nobody takes off a job", "patch", kinds.NESTED_APP_JOB, "theirs", USER, STATUS_ONLY,
           {"metadata": STAYS}),
    Attack("job-rerun", "to run a job's steps again", "patch", kinds.NESTED_APP_JOB, "theirs", USER, STATUS_ONLY,
           {"metadata": {"annotations": {labels.RERUN: "2"}}}),
    Attack("job-queued", "to put a job into a queue", "patch", kinds.NESTED_APP_JOB, "theirs", USER, STATUS_ONLY,
           {"metadata": {"labels": {labels.KUEUE_QUEUE: "best"}}}),
    Attack("job-made", "a job", "create", kinds.NESTED_APP_JOB, "x", STRANGER, "cannot create resource|cannot patch resource",
           {"spec": {"app": {"image": "evil:1"}}}),
    Attack("cluster-made", "a NestedCluster in a stranger's namespace", "create",
           kinds.NESTED_CLUSTER, "x", STRANGER, "what users wish", {"spec": {}}),
    Attack("cluster-changed", "to change a NestedCluster that is no job's", "patch", kinds.NESTED_CLUSTER, "own", USER,
           "what users wish", {"spec": {"image": "evil:1"}}),
    Attack("cluster-orphaned", "to have it deleted, by an owner that is not there", "patch", kinds.NESTED_CLUSTER, "own", USER,
           "what users wish", {"metadata": GONE}),
    Attack("backend-orphaned", "to have a backend deleted in that way", "patch", kinds.OVERFLOW_BACKEND, "theirs", None,
           STATUS_ONLY, {"metadata": GONE}),
    Attack("backend-changed", "to lead a backend elsewhere", "patch", kinds.OVERFLOW_BACKEND, "theirs", None, "what users wish",
           {"spec": {"interlink": {"url": "https://evil.example"}}}),
    Attack("class-changed", "to change a class", "patch", kinds.NESTED_CLASS, "default", None, "cannot patch resource",
           {"spec": {"namespace": {"podSecurity": "Privileged"}}}),
)  # fmt: skip
WORKLOADS = (
    Attack("workload-made", "a Workload that is no job's", "create", kueue.WORKLOAD, "x", STRANGER, ONLY_OWN,
           {"spec": workload("main")}),
    Attack("workload-deleted", "to delete the Workload of a stranger's Job, which ends it", "delete", kueue.WORKLOAD, "theirs",
           STRANGER, ONLY_OWN),
    Attack("workload-changed", "to change it", "patch", kueue.WORKLOAD, "theirs", STRANGER, ONLY_OWN,
           {"spec": {"active": False}}),
    Attack("workload-admitted", "to admit it", "status", kueue.WORKLOAD, "theirs", STRANGER, ONLY_OWN, admitted("main")),
    Attack("workload-taken", "to make an absent job the owner of one that nobody owns yet, so that it is deleted", "patch",
           kueue.WORKLOAD, "free", STRANGER, MADE_FOR_ONE, {"metadata": {"ownerReferences": [refer()]}}),
    Attack("workload-stays", "a Workload with a finalizer", "create", kueue.WORKLOAD, "x", STRANGER,
           "no finalizers of the operator's", {"metadata": {"ownerReferences": [refer()], **STAYS}, "spec": workload("main")}),
    Attack("workload-of-job-admitted", "to admit a job, past Kueue", "status", kueue.WORKLOAD, "of-job", USER,
           "Kueue that reserves quota", admitted(*SETS)),
)  # fmt: skip
ATTACKS = (*WISHES, *WORKLOADS)
