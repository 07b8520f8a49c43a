"""`kubectl apply` for manifests and kustomizations."""

from __future__ import annotations

from nestor.runner.command import Outcome
from nestor.steps import Step


def build_command(step: Step, flag: str, path: str) -> list[str]:
    """`flag` is `-f` for manifests, `-k` for a kustomization.

    Client-side apply is the default, as KNS documents it: fields that the file drops are removed on the next run, unknown fields
    are refused by the server. Server-side apply wins over other managers of a field, as client-side apply does without asking:
    the template says what is to be, and no retry would heal a conflict.
    """
    command = ["kubectl", "apply", flag, path]
    command += ["--namespace", step.namespace] if step.namespace else []
    return [*command, *(["--server-side", "--force-conflicts"] if step.server_side else [])]


def find_hint(step: Step, outcome: Outcome) -> str:
    """What to do about an apply that took too long; empty for all else.

    kubectl reads the API's whole schema anew for each object that exists already (kubernetes/kubernetes#127095), some 0.1 s:
    thousands of documents are applied in seconds at first, and in many minutes again.
    """
    is_slow_apply = not step.server_side and " unchanged" in outcome.message
    if outcome.exit_code is not None or not is_slow_apply:
        return ""
    return "\n(for thousands of objects that exist already, `server_side: true` is many times faster)"
