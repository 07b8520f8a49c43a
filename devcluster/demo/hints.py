"""What to try after the demo, and where to look when it failed; every command works as printed. Pure."""

from pathlib import Path
from typing import Any

Object = dict[str, Any]


def describe_surroundings(job: Object, kubeconfig: Path, tools: Path | None) -> list[str]:
    """How to look around. `tools` is a folder for PATH, where kubectl is not the machine's own."""
    name, namespace, status = job["metadata"]["name"], job["metadata"]["namespace"], job.get("status") or {}
    path = f" PATH={tools}:$PATH" if tools else ""
    secret = status.get("kubeconfigSecretName", f"{name}-kubeconfig")
    host, nested = status.get("namespace"), f"/tmp/{name}.kubeconfig"
    return [
        "Look around:",
        f"  export KUBECONFIG={kubeconfig}{path}",
        *_explain(
            ("kubectl get naj -A", "the jobs, what each waits for, their URLs"),
            (f"kubectl describe naj -n {namespace} {name}", "its conditions, steps and events"),
            (f"kubectl get pods -n {host}", "its cluster and its app, in the host"),
            (f"kubectl logs -n {host} {name}-run", "what the steps said"),
        ),
        "Inside its nested cluster:",
        f"  kubectl get secret -n {namespace} {secret} -o jsonpath='{{.data.kubeconfig}}' | base64 -d > {nested}",
        f"  kubectl --kubeconfig {nested} get all -A",
        "Take it down:",
        *_explain((f"kubectl delete naj -n {namespace} {name}", "this job and everything of it"), ("make demo-down", "all")),
    ]


def describe_backends(kubeconfig: Path) -> list[str]:
    """How to look at backends and their nodes."""
    return [
        "Look around:",
        f"  export KUBECONFIG={kubeconfig}",
        *_explain(
            ("kubectl get ofb", "the backends: whether they answer, how many of their nodes are ready"),
            ("kubectl get nodes -L nestor.dev/backend", "their nodes, beside the cluster's own"),
            ("kubectl describe nclass demo-overflow", "what the class says about places"),
        ),
        "Take it down:",
        "  make demo-down",
    ]


def _explain(*commands: tuple[str, str]) -> list[str]:
    """Commands with aligned remarks."""
    width = max(len(command) for command, _ in commands)
    return [f"  {command:{width}}  # {remark}" for command, remark in commands]


def describe_failure_help(name: str, namespace: str, host_namespace: str | None, kubeconfig: Path) -> list[str]:
    """Where to look for more than the condition says."""
    lines = [
        "Where to look:",
        f"  export KUBECONFIG={kubeconfig}",
        f"  kubectl describe naj -n {namespace} {name}",
        "  kubectl logs -n nestor-system deployment/nestor --tail=50",
    ]
    if host_namespace:
        lines += [
            f"  kubectl get pods,events -n {host_namespace}",
            f"  kubectl logs -n {host_namespace} {name}-run",
            f"  kubectl logs -n {host_namespace} {name}-k3s-0 --all-containers --tail=30",
        ]
    return lines
