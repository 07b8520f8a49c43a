"""The runner: the operator creates its pod and reads its exit code; the syncer reads the record that it writes."""

import signal
from enum import IntEnum

PLAN_FOLDER = "/etc/nestor/plan"
PLAN_FILE = "plan.json"
"""File name in the plan folder, and key in the plan's Secret."""
KUBECONFIG_FOLDER = "/etc/nestor/kubeconfig"
KUBECONFIG_FILE = "kubeconfig"
IMAGE_FOLDER = "/app"
TEMPLATES_FOLDER = "/app/templates"
WORK_FOLDER = "/work"
TEMPORARY_FOLDER = "/tmp"  # noqa: S108 - the container's own

RECORD_NAMESPACE = "kube-system"
RECORD_NAME = "nestor-run"
"""ConfigMap in the nested cluster where the runner stores its progress."""
RECORD_KEY = "run.json"
RECORD_OWNER_KEY = "runner-id"
"""Which runner wrote it last: one that finds another's name there stops."""
RECORD_LIMIT = 256 * 1024
"""Maximum length that the syncer accepts, in characters: users of the nested cluster can write that ConfigMap too."""

MESSAGE_LIMIT = 5000
"""Characters of a step's message in the record, which is copied to the status of the NestedCluster and of the job."""


class Exit(IntEnum):
    """Exit codes of the runner. 0 and 1 are results, also stored in the record; after any other, a new pod resumes from it."""

    SUCCEEDED = 0
    STEP_FAILED = 1
    BAD_PLAN = 2
    NO_API = 3
    """The nested API never came up or became unreachable: not the runner's fault."""
    REFUSED = 4
    """The nested API is reachable, but rejects the record."""
    NO_VOLUME = 5
    """The volume with the templates is missing: the host API server dropped it from the pod."""
    SUPERSEDED = 6
    """Another runner has taken over the record."""
    CRASHED = 70
    """A bug or an unexpected error. Python's own exit code for that, 1, is taken."""
    STOPPED = 128 + signal.SIGTERM
