"""The chart in a real cluster: what a stolen token is worth, and when helm uninstalls."""

import asyncio
import json
from pathlib import Path

import yaml

from nestor.kube import Api, kinds
from tests.e2e.conftest import ROOT, example, helm, kubectl, try_kubectl
from tests.waiting import wait_for_any

SYSTEM = "nestor-system"
PRIVILEGED = """
apiVersion: v1
kind: Pod
metadata: {name: thief, namespace: kube-system}
spec:
  containers:
  - {name: thief, image: thief, securityContext: {privileged: true}}
"""
TOKEN = """
apiVersion: v1
kind: Secret
metadata:
  name: thief
  namespace: kube-system
  labels: {app.kubernetes.io/managed-by: nestor, nestor.dev/cluster: x}
  annotations: {kubernetes.io/service-account.name: namespace-controller}
type: kubernetes.io/service-account-token
"""


async def test_a_stolen_token_of_the_operator_takes_nobody_further(kubeconfig: Path, namespace: str, tmp_path: Path) -> None:
    content = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    token = (await kubectl(kubeconfig, "-n", SYSTEM, "create", "token", "nestor", "--duration=10m")).strip()
    content["users"] = [{"name": content["contexts"][0]["context"]["user"], "user": {"token": token}}]
    thief = tmp_path / "thief.kubeconfig"
    thief.write_text(yaml.safe_dump(content))
    admin = ("--clusterrole=cluster-admin", f"--serviceaccount={SYSTEM}:nestor")
    for arguments, stdin, said in (
        (("create", "-f", "-"), PRIVILEGED, "may not write this in namespaces"),
        (("create", "-f", "-"), TOKEN, "kubeconfigs of jobs only"),
        (("create", "clusterrolebinding", "thief", *admin), None, "attempting to grant RBAC|may bind"),
        (("delete", "namespace", namespace, "--wait=false"), None, "namespaces of jobs only"),
        (("label", "namespace", "kube-system", "nestor.dev/job-uid=1"), None, "namespaces of jobs only"),
        (("-n", "kube-system", "get", "secrets"), None, "cannot list resource"),
    ):
        code, output = await try_kubectl(thief, *arguments, stdin=stdin)
        assert code != 0, arguments
        assert any(text in output for text in said.split("|")), output


async def test_the_hook_of_the_chart_refuses_as_long_as_there_is_a_job(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """What helm runs before it uninstalls, run by hand: the other tests need the chart."""
    *_, job = example("01-hello-world", "kept", namespace)
    await api.apply(kinds.NESTED_APP_JOB, job | {"spec": job["spec"] | {"suspend": True}})
    hook = tmp_path / "hook.yaml"
    hook.write_text(await _render_hook(kubeconfig))
    await kubectl(kubeconfig, "apply", "-f", str(hook))
    try:
        pod = await wait_for_any(
            api,
            kinds.POD,
            SYSTEM,
            lambda found: (found.get("status") or {}).get("phase") in ("Succeeded", "Failed"),
            labels="batch.kubernetes.io/job-name=nestor-uninstall",
        )
        assert pod["status"]["phase"] == "Failed"
        text = await kubectl(kubeconfig, "-n", SYSTEM, "logs", pod["metadata"]["name"])
        assert "Nestor is not uninstalled" in text
        assert f"NestedAppJob {namespace}/kept" in text
    finally:
        await kubectl(kubeconfig, "delete", "-f", str(hook))


async def _render_hook(kubeconfig: Path) -> str:
    """With the values of the release that is installed."""
    values = json.loads(await helm(kubeconfig, "get", "values", "nestor", "-n", SYSTEM, "-o", "json"))
    chart = ("template", "nestor", str(ROOT / "charts/nestor"), "-n", SYSTEM, "--show-only", "templates/uninstall.yaml")
    return await helm(kubeconfig, *chart, "--values", "-", stdin=json.dumps(values))
