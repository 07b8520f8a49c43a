"""`kubectl apply` for manifests and kustomizations."""

from __future__ import annotations

from nestor.apps.runner.attempt import Again
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Step

SERVER_SIDE = ("--server-side", "--force-conflicts")
TOO_LONG = "metadata.annotations: Too long"
"""Client-side apply keeps the whole object in an annotation, and annotations have 256 KiB: some CRDs are larger."""
RACES = ("Error from server (AlreadyExists)", "Error from server (Conflict)")
"""Somebody else wrote the object between kubectl's read and its write."""


def build_command(step: Step, flag: str, path: str) -> list[str]:
    """`flag` is `-f` for manifests, `-k` for a kustomization.

    Client-side apply is the default, as KNS documents it: fields that the file drops are removed on the next run, unknown fields
    are refused by the server. Server-side apply wins over other managers of a field, as client-side apply does without asking:
    the template is authoritative, and a retry would not resolve a conflict.
    """
    command = ["kubectl", "apply", flag, path]
    command += ["--namespace", step.namespace] if step.namespace else []
    return [*command, *(SERVER_SIDE if step.server_side else ())]


def repeat(command: list[str], outcome: Outcome) -> Again | None:
    """What to run at once, in the same attempt, after an apply that failed; None where only the step's own retries may help."""
    if outcome.exit_code is None:
        return None
    if TOO_LONG in outcome.message and SERVER_SIDE[0] not in command:
        note = "an object is too large for client-side apply; all are applied again by server-side apply"
        return Again([*command, *SERVER_SIDE], note)
    if any(race in outcome.message for race in RACES):
        return Again(command, "another writer was faster; applied again")
    return None


def find_hint(step: Step, outcome: Outcome) -> str:
    """What to do about an apply that took too long; otherwise empty.

    For each object that already exists, kubectl reads the whole API schema again, about 0.1 s (kubernetes/kubernetes#127095):
    thousands of documents take seconds the first time, and many minutes the next.
    """
    is_slow_apply = not step.server_side and " unchanged" in outcome.message
    if outcome.exit_code is not None or not is_slow_apply:
        return ""
    return "\n(when thousands of objects already exist, `server_side: true` is many times faster)"
