"""`helm` steps: the command, its values, and releases that a killed helm left unfinished."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

from nestor.apps.steps import Step
from nestor.apps.steps.plan import Helm
from nestor.kube import Api, kinds

MARGIN_SECONDS = 10
"""helm's own limit ends this much earlier than the step's, so that helm can report what was not ready."""
PENDING = "pending-install,pending-upgrade,pending-rollback"


def build_command(step: Step, helm: Helm, chart: str, values: list[Path]) -> list[str]:
    """`helm upgrade --install`, which does the same when repeated. Later files of `values` win."""
    command = ["helm", "upgrade", "--install", helm.release, chart, "--namespace", step.namespace or "default"]
    command += ["--create-namespace"] if helm.create_namespace else []
    command += ["--repo", helm.repo] if helm.repo else []
    command += ["--version", helm.version] if helm.version else []
    for file in values:
        command += ["--values", str(file)]
    command += ["--wait"] if helm.wait else []
    return [*command, "--timeout", f"{find_timeout(step.timeout_seconds)}s"]


def find_timeout(seconds: int) -> int:
    """helm's own limit, in seconds."""
    return max(1, seconds - min(MARGIN_SECONDS, seconds // 5))


def write_values(helm: Helm, file: Path) -> list[Path]:
    """Write the step's own values to a file, if it has any. JSON is valid YAML."""
    if not helm.values:
        return []
    file.write_text(json.dumps(helm.values))
    return [file]


def find_host(helm: Helm) -> str | None:
    """The host that helm fetches the chart from; None for a chart that is a file."""
    return urlsplit(helm.repo or helm.chart or "").hostname


async def forget_pending(api: Api, step: Step, helm: Helm) -> int:
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
