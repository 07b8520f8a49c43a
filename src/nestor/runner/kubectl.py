"""`kubectl apply` for manifests and kustomizations."""

from __future__ import annotations

from nestor.runner.command import Outcome
from nestor.steps import Step


def build_command(step: Step, flag: str, path: str) -> list[str]:
    """`flag` is `-f` for manifests, `-k` for a kustomization.

    Client-side apply is the default, as KNS documents it: fields that the file drops are removed on the next run, unknown fields
    are refused by the server. Server-side apply wins over other managers of a field, as client-side apply does without asking:
    the template is authoritative, and a retry would not resolve a conflict.
    """
    command = ["kubectl", "apply", flag, path]
    command += ["--namespace", step.namespace] if step.namespace else []
    return [*command, *(["--server-side", "--force-conflicts"] if step.server_side else [])]


def find_hint(step: Step, outcome: Outcome) -> str:
    """What to do about an apply that took too long; otherwise empty.

    For each object that already exists, kubectl reads the whole API schema again, about 0.1 s (kubernetes/kubernetes#127095):
    thousands of documents take seconds the first time, and many minutes the next.
    """
    is_slow_apply = not step.server_side and " unchanged" in outcome.message
    if outcome.exit_code is not None or not is_slow_apply:
        return ""
    return "\n(when thousands of objects already exist, `server_side: true` is many times faster)"
