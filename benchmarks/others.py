"""`python -m benchmarks.others vcluster|k3k [COUNT]`: what `nestor bench` measures, of another project's clusters where one is
installed: its command line, kubectl, and the current context. Its figures go beside those of `nestor bench` on the same cluster.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nestor.clients.cli.bench import app, figures

_VCLUSTER = ["vcluster", "connect", "{name}", "-n", "{name}", "--", "kubectl"]
COMMANDS = {
    "vcluster": {
        "create": ["vcluster", "create", "{name}", "-n", "{name}", "--connect=false"],
        "kubectl": _VCLUSTER,
        "delete": ["vcluster", "delete", "{name}", "-n", "{name}", "--delete-namespace"],
    },
    "k3k": {  # writes <namespace>-<name>-kubeconfig.yaml into the current folder
        "create": ["k3kcli", "cluster", "create", "-n", "{name}", "{name}"],
        "kubectl": ["kubectl", "--kubeconfig", "{name}-{name}-kubeconfig.yaml"],
        "delete": ["k3kcli", "cluster", "delete", "-n", "{name}", "{name}"],
    },
}


def measure(project: str, name: str, file: Path) -> dict[str, float]:
    """One cluster: seconds until its API server answers, until the app is available in it, and of its deletion."""

    def run(action: str, *arguments: str) -> float:
        command = [word.format(name=name) for word in COMMANDS[project][action]]
        subprocess.run([*command, *arguments], cwd=file.parent, stdout=sys.stderr, check=True)
        return time.monotonic()

    begin = time.monotonic()
    run("create")
    times = {"clusterReady": run("kubectl", "get", "--raw", "/readyz") - begin}
    run("kubectl", "apply", "-f", str(file))
    times["ready"] = run("kubectl", "wait", "deployment/web", "--for=condition=Available", "--timeout=600s") - begin
    begin = time.monotonic()
    return {**times, "gone": run("delete") - begin}


if __name__ == "__main__":
    project, count = sys.argv[1], int((*sys.argv, "30")[2])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / app.TEMPLATE
        file.write_text(app.build_templates(app.IMAGE)["data"][app.TEMPLATE])
        found = [measure(project, f"bench-{os.getpid()}-{number}", file) for number in range(count + 1)][1:]
    print(json.dumps({"project": project, "stages": figures.summarize(found), "seconds": found}, indent=2))
