"""Into a job's cluster and its logs: directly, through a tunnel, and with the rights that the user has."""

import contextlib
import stat
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from nestor.clients.cli.exits import Code
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.cli.conftest import JOBS, SECRETS, CommandLine, Kubelet, Object, create, give_cluster, grant, report
from tests.unit.clients.cli.builders import step

UNREACHABLE = "https://127.0.0.1:1"
PORT_FORWARD = """#!{python}
import sys, time
assert "port-forward" in sys.argv, sys.argv
open({log!r}, "w").write(" ".join(sys.argv[1:]))
print("Forwarding from 127.0.0.1:{port} -> 6443", flush=True)
time.sleep(600)
"""


@pytest.fixture
async def job(host: Api, control_plane: apiserver.ControlPlane, namespace: str) -> Object:
    """A job whose cluster is the test's own API server."""
    found = await create(host, namespace)
    await give_cluster(host, control_plane, found)
    return found


def put_kubectl(folder: Path, port: int) -> tuple[Path, Path]:
    """A kubectl that forwards to the API server itself, and where it notes what it was asked."""
    path, log = folder / "fake-kubectl", folder / "asked"
    path.write_text(PORT_FORWARD.format(python=sys.executable, log=str(log), port=port))
    path.chmod(0o755)
    return path, log


async def test_the_kubeconfig_is_printed_written_and_merged(cli: CommandLine, job: Object, tmp_path: Path) -> None:
    name = f"nestor-{cli.namespace}-shop"
    content = yaml.safe_load((await cli("kubeconfig", "shop")).stdout)
    assert content["current-context"] == name
    file = tmp_path / "out.yaml"
    assert (await cli("kubeconfig", "shop", "--output", str(file))).code == Code.OK
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert yaml.safe_load(file.read_text()) == content

    mine = tmp_path / "mine"
    mine.write_bytes(cli.kubeconfig.read_bytes())
    before = yaml.safe_load(mine.read_text())
    call = await cli("kubeconfig", "shop", "--merge", KUBECONFIG=str(mine))
    assert f"context '{name}' added to {mine}" in call.stderr
    merged = yaml.safe_load(mine.read_text())
    assert merged["current-context"] == before["current-context"]
    assert [item["name"] for item in merged["contexts"]] == [before["current-context"], name]
    call = await cli("kubeconfig", "shop", "--merge", "--use", "--context-name", "inside", KUBECONFIG=str(mine))
    assert yaml.safe_load(mine.read_text())["current-context"] == "inside"
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600


async def test_a_command_runs_with_the_nested_kubeconfig(cli: CommandLine, job: Object) -> None:
    show = "stat -c %a $KUBECONFIG; echo $NESTOR_JOB; kubectl get namespace default -o name; exit 7"
    call = await cli("exec", "shop", "--", "sh", "-c", show)
    assert call.code == 7
    assert call.stdout.splitlines() == ["600", f"{cli.namespace}/shop", "namespace/default"]
    assert (await cli("exec", "shop", "--", "no-such-command")).code == 127


async def test_without_metrics_their_absence_is_told(cli: CommandLine, job: Object) -> None:
    call = await cli("top", "shop")
    assert (call.code, call.stdout) == (Code.FAILED, "")
    assert "there are no metrics of job 'shop': its cluster has no metrics API" in call.stderr
    assert f"nothing runs in namespace '{cli.namespace}'" in (await cli("top")).stderr


async def test_the_shell_is_the_users_own(cli: CommandLine, job: Object, tmp_path: Path) -> None:
    script = tmp_path / "my-shell"
    script.write_text("#!/bin/sh\ntest -f $KUBECONFIG && echo inside\n")
    script.chmod(0o755)
    call = await cli("shell", "shop", SHELL=str(script))
    assert (call.code, call.stdout) == (0, "inside\n")
    assert "type `exit` to leave" in call.stderr


async def test_a_tunnel_is_open_for_as_long_as_the_command_runs(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, job: Object, tmp_path: Path
) -> None:
    await give_cluster(host, control_plane, job, UNREACHABLE)
    kubectl, log = put_kubectl(tmp_path, urlsplit(host.host).port or 0)
    call = await cli("exec", "shop", "--", "kubectl", "get", "namespace", "default", "-o", "name", KUBECTL=str(kubectl))
    assert (call.code, call.stdout) == (0, "namespace/default\n"), call.stderr
    asked = log.read_text().split()
    assert asked[-2:] == ["service/shop-k3s", ":443"]
    assert f"--namespace=own-{cli.namespace}" in asked
    assert not find_processes(str(kubectl))


def find_processes(part: str) -> list[str]:
    """Command lines that hold `part`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_text())
    return [line for line in found if part in line]


async def test_a_tunnel_that_fails_is_explained(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, job: Object
) -> None:
    await give_cluster(host, control_plane, job, UNREACHABLE)
    call = await cli("exec", "shop", "--", "true")
    assert call.code == Code.NO_ACCESS
    assert "could not open a tunnel to the nested cluster" in call.stderr
    assert "shop-k3s" in call.stderr


async def test_a_job_without_a_cluster_says_so(cli: CommandLine, host: Api, namespace: str) -> None:
    await create(host, namespace)
    call = await cli("kubeconfig", "shop")
    assert call.code == Code.FAILED
    assert "job 'shop' has no cluster yet: no status reported yet" in call.stderr


RUNNER_LOG = "2 steps to run\n[database] applied\n[web] one\n[web] two\n[webmail] other\nall steps succeeded\n"


@pytest.mark.parametrize(("where", "cluster"), [("own-{}", "shop"), ("nestor--{}-0123abcd", "warm")], ids=["own", "of a pool"])
async def test_logs_of_steps_and_pods(
    cli: CommandLine, host: Api, job: Object, kubelet: Kubelet, where: str, cluster: str
) -> None:
    where = where.format(cli.namespace)
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": where}})
    await host.patch(kinds.NESTED_APP_JOB, "shop", cli.namespace, {"status": {"namespace": where}}, subresource="status")
    await kubelet.run(f"{cluster}-run", where, RUNNER_LOG)
    await kubelet.run(
        "web-1-x-default-x-0a1b2c3d",
        where,
        "hello\n\x1b[31mred",
        labels={"nestor.dev/cluster": cluster},
        nested_name="web-1",
        nested_namespace="default",
    )
    assert (await cli("logs", "shop")).stdout == RUNNER_LOG
    assert (await cli("logs", "shop", "web")).stdout == "[web] one\n[web] two\n"
    assert (await cli("logs", "shop", "web", "--tail", "1")).stdout == "[web] two\n"
    assert (await cli("logs", "shop", "web", "--follow")).stdout == "[web] one\n[web] two\n"
    assert (await cli("logs", "shop", "default/web-1")).stdout == "hello\n\x1b[31mred\n"
    call = await cli("logs", "shop", "other")
    assert call.code == Code.NOT_FOUND
    assert "no step and no running pod 'other'; its steps: 'database', 'web'" in call.stderr


async def test_logs_that_may_not_be_read_are_replaced_by_what_the_status_knows(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, job: Object, kubelet: Kubelet
) -> None:
    namespace = job["metadata"]["namespace"]
    await grant(host, "jane", namespace, JOBS, SECRETS)
    cli = replace(cli, kubeconfig=control_plane.kubeconfig_of("jane"))
    failed = step("web", "Failed", message="error: it is broken")
    await report(host, job, kubeconfigSecretName="shop-kubeconfig", namespace=f"own-{namespace}", steps=[failed])
    call = await cli("logs", "shop")
    assert (call.code, call.stdout) == (Code.NO_ACCESS, "[web] error: it is broken\n")
    assert f"you have no permission to `get` pods/log in namespace 'own-{namespace}'" in call.stderr

    await kubelet.run("nested", "default", "said inside\n")
    call = await cli("logs", "shop", "nested")
    assert (call.code, call.stdout) == (Code.OK, "said inside\n"), call.stderr
    await host.delete(kinds.POD, "nested", "default", grace_seconds=0)
