"""The commands of steps: `kubectl apply`, `helm upgrade`, and scripts, which are run by their own `#!` line."""

import json
from pathlib import Path
from urllib.parse import urlsplit

from nestor.apps.runner.attempt import StepError
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Step
from nestor.apps.steps.plan import Helm
from nestor.kube import Api, kinds

SERVER_SIDE = ("--server-side", "--force-conflicts")
TOO_LONG = "metadata.annotations: Too long"
"""Client-side apply keeps the whole object in an annotation, and annotations have 256 KiB: some CRDs are larger."""
LOST_RACE = "Error from server (AlreadyExists)"
"""Somebody else made the object after kubectl had found none: the service account of a new namespace, for one."""
MARGIN_SECONDS = 10
"""helm's own limit ends this much earlier than the step's, so that helm can report what was not ready."""
PENDING = "pending-install,pending-upgrade,pending-rollback"
RUN_BY_THEMSELVES = (b"#!", b"\x7fELF")
KNOWN_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")


def build_apply(step: Step, flag: str, path: str) -> list[str]:
    """`flag` is `-f` for manifests, `-k` for a kustomization.

    Client-side apply is the default, as KNS documents it: fields that the file drops are removed on the next run, unknown fields
    are refused by the server. Server-side apply wins over other managers of a field, as client-side apply does without asking:
    the template is authoritative, and a retry would not resolve a conflict.
    """
    command = ["kubectl", "apply", flag, path]
    command += ["--namespace", step.namespace] if step.namespace else []
    return [*command, *(SERVER_SIDE if step.server_side else ())]


def repeat_apply(command: list[str], outcome: Outcome) -> tuple[list[str], str] | None:
    """What to run at once, in the same attempt, after an apply that failed, and why; None where only the step's retries help."""
    if outcome.exit_code is None:
        return None
    if TOO_LONG in outcome.message and SERVER_SIDE[0] not in command:
        note = "an object is too large for client-side apply; all are applied again by server-side apply"
        return [*command, *SERVER_SIDE], note
    if LOST_RACE in outcome.message:
        return command, "another writer was faster; applied again"
    return None


def build_helm(step: Step, helm: Helm, chart: str, values: list[Path]) -> list[str]:
    """`helm upgrade --install`, which does the same when repeated. Later files of `values` win."""
    command = ["helm", "upgrade", "--install", helm.release, chart, "--namespace", step.namespace or "default"]
    command += ["--create-namespace"] if helm.create_namespace else []
    command += ["--repo", helm.repo] if helm.repo else []
    command += ["--version", helm.version] if helm.version else []
    for file in values:
        command += ["--values", str(file)]
    command += ["--wait"] if helm.wait else []
    limit = step.timeout_seconds
    return [*command, "--timeout", f"{max(1, limit - min(MARGIN_SECONDS, limit // 5))}s"]


def write_helm_values(helm: Helm, file: Path) -> list[Path]:
    """Write the step's own values to a file, if it has any. JSON is valid YAML."""
    if not helm.values:
        return []
    file.write_text(json.dumps(helm.values))
    return [file]


def find_chart_host(helm: Helm) -> str | None:
    """The host that helm fetches the chart from; None for a chart that is a file."""
    return urlsplit(helm.repo or helm.chart or "").hostname


async def forget_pending_releases(api: Api, step: Step, helm: Helm) -> int:
    """Delete the records of operations that were killed in the middle; returns how many.

    helm would refuse the release for ever with "another operation is in progress". There is none: one runner lives at a time, and
    no process of an attempt outlives it. What was installed stays, and belongs to the release when it is installed again.
    """
    selector = f"owner=helm,name={helm.release},status in ({PENDING})"
    namespace = step.namespace or "default"
    found = await api.list(kinds.SECRET, namespace, labels=selector)
    for secret in found:
        await api.delete(kinds.SECRET, secret["metadata"]["name"], namespace)
    return len(found)


def write_script(script: bytes, file: Path) -> list[str]:
    """Write the script to `file`; returns the command. Raises `StepError` when its `#!` names what is not there."""
    file.write_bytes(script)
    file.chmod(0o700)
    if not script.startswith(RUN_BY_THEMSELVES):
        return ["/bin/sh", str(file)]
    if script.startswith(b"#!"):
        _check_interpreter(script)
    return [str(file)]


def _check_interpreter(script: bytes) -> None:
    """The system would only say that the script, which is there, does not exist."""
    words = script.partition(b"\n")[0][2:].decode(errors="replace").split()
    if not words:
        raise StepError("the script's `#!` line names no program")
    interpreter = Path(words[0])
    if not interpreter.is_file():
        elsewhere = [Path(folder, interpreter.name) for folder in KNOWN_FOLDERS if Path(folder, interpreter.name).is_file()]
        hint = f"; there is {elsewhere[0]}" if elsewhere else ""
        raise StepError(f"the script's `#!` line names {interpreter}, which the runner's image does not have{hint}")
