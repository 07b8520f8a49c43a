"""`make demo-down`: the cluster with everything in it, or, in somebody else's cluster, what the demo put there."""

import os

import devcluster.cluster
from devcluster.demo import install
from devcluster.demo.show import choose_example
from devcluster.demo.tools import Tools
from devcluster.progress import Progress


def run(progress: Progress) -> int:
    """0 when nothing is left."""
    if os.environ.get("CLUSTER") == "current":
        _clean_current(progress)
        return 0
    left = devcluster.cluster.down(progress)
    for thing in left:
        progress.note(f"left: {thing}")
    return 1 if left else 0


def _clean_current(progress: Progress) -> None:
    """The demo's job first, while the operator is there to clean up after it; then Nestor. The CRDs stay: others may use them."""
    tools = Tools(devcluster.cluster.current.kubeconfig())
    with progress.stage("Delete the demo's job"):
        tools.kubectl("delete", "-f", str(choose_example()), "--ignore-not-found", "--timeout=60s")
    with progress.stage("Uninstall Nestor"):
        tools.helm("uninstall", install.RELEASE, "--namespace", install.NAMESPACE, "--ignore-not-found", "--wait")
    progress.note(f"The CRDs stay. To remove them, and all jobs with them: kubectl delete -f {install.CHART / 'crds'}")
