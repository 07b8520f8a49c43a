"""The runner: the operator makes its pod and reads its exit code, the syncer reads the record that it writes."""

from __future__ import annotations

import signal
from enum import IntEnum

PLAN_FOLDER = "/etc/nestor/plan"
PLAN_FILE = "plan.json"
"""In the plan's folder, and the key in its ConfigMap."""
KUBECONFIG_FOLDER = "/etc/nestor/kubeconfig"
KUBECONFIG_FILE = "kubeconfig"
"""Opens the nested cluster."""
IMAGE_FOLDER = "/app"
"""Where the app image is mounted."""
TEMPLATES_FOLDER = "/app/templates"
WORK_FOLDER = "/work"
TEMPORARY_FOLDER = "/tmp"  # noqa: S108 - the container's own

RECORD_NAMESPACE = "kube-system"
RECORD_NAME = "nestor-run"
"""ConfigMap of the nested cluster in which the runner keeps its progress."""
RECORD_KEY = "run.json"
RECORD_LIMIT = 256 * 1024
"""Characters that the syncer accepts: the nested cluster's users can write that ConfigMap as well."""


class Exit(IntEnum):
    """0 and 1 are results that the record holds as well. After any other code, a new pod resumes from the record."""

    SUCCEEDED = 0
    STEP_FAILED = 1
    BAD_PLAN = 2
    NO_API = 3
    """The nested API never came up, or went away: the runner is not at fault."""
    REFUSED = 4
    """The nested API answers, but refuses the record."""
    NO_VOLUME = 5
    """The volume with the templates is missing: the host's API server dropped it from the pod."""
    SUPERSEDED = 6
    """Another runner, with another plan, has taken over the record."""
    CRASHED = 70
    """A bug or an unforeseen error. Python's own code for it, 1, is taken."""
    STOPPED = 128 + signal.SIGTERM
