"""`nestor run` and `status --follow`: what they make, what they tell, how they end."""

import asyncio
import contextlib
import os
import pty
import sys
from pathlib import Path
from typing import Any

import yaml

from nestor.clients.cli.exits import Code
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.cli.conftest import ROOT, CommandLine, Object, create, report
from tests.unit.clients.cli.builders import ADMITTED, APPLIED, CLUSTER, EXPOSED, READY, RUNNING, condition, step
from tests.waiting import wait_for_any, wait_for_none

URL = "http://shop-team-a.apps.test/"
FACTS: Object = {"kubernetesVersion": "v1.36.2+k3s1", "namespace": "nestor-x", "command": "Start"}


def not_ready(reason: str, message: str = "it waits") -> list[Object]:
    """Conditions of a job whose steps run."""
    return [ADMITTED, CLUSTER, *[condition(kind, "False", reason, message) for kind in ("StepsApplied", "Ready")], RUNNING]


async def the_job(host: Api, namespace: str) -> Object:
    """The job that the command line makes."""
    return await wait_for_any(host, kinds.NESTED_APP_JOB, namespace, bool)


async def test_run_follows_the_job_to_its_url(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli.start("run", "registry.test/shop:1", "--parameter", "size=3", "--class", "default")
    job = await the_job(host, namespace)
    assert job["metadata"]["name"].startswith("shop-")
    assert job["spec"]["app"] == {"image": "registry.test/shop:1"}
    assert job["spec"]["parameters"] == {"size": 3}
    assert job["metadata"]["annotations"] == {"nestor.dev/created-by": "admin"}
    await report(host, job, *not_ready("StepRunning"), steps=[step("database", "Running"), step("web", "Pending")], **FACTS)
    await call.read_line("step 1 of 2 'database' is running")
    retrying = step("web", "Retrying", attempt=1, maxAttempts=3, message="error: no such host")
    await report(host, job, *not_ready("StepRetrying"), steps=[step("database"), retrying], **FACTS)
    await call.read_line("step 1 of 2 'database' succeeded in 2s")
    await call.read_line("step 2 of 2 'web' failed, will be retried, attempt 1 of 3: error: no such host")
    await report(
        host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, steps=[step("database"), step("web")], url=URL, **FACTS
    )
    await call.read_line(f"exposed at {URL}")
    await call.wait()
    assert (call.code, call.stdout) == (Code.OK, f"{URL}\n")


async def test_a_cluster_is_made_and_followed_until_it_is_ready(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli.start("cluster", "create", "lab", "--class", "default", "--version", "v1.36")
    job = await the_job(host, namespace)
    assert (job["metadata"]["name"], job["spec"]) == (
        "lab",
        {"className": "default", "kubernetesVersion": "v1.36", "suspend": False},
    )
    absent = [condition(kind, "False", "NotRequested") for kind in ("StepsApplied", "Exposed")]
    await report(host, job, ADMITTED, CLUSTER, *absent, READY, RUNNING, kubernetesVersion="v1.36.2+k3s1", namespace="nestor-x")
    await call.read_line("cluster ready: Kubernetes v1.36.2+k3s1")
    await call.wait()
    assert (call.code, call.stdout) == (Code.OK, "")


async def test_run_ends_with_1_when_a_step_fails(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli.start("run", "registry.test/shop:1", "--name", "mine")
    job = await the_job(host, namespace)
    ending = condition("Succeeded", "False", "StepFailed", "step 1 of 1 'web' failed")
    failed = step("web", "Failed", message="error: it is broken")
    stages = [*not_ready("StepFailed", "step 1 of 1 'web' failed")[:-1], ending]
    await report(host, job, *stages, steps=[failed], nextStep="correct the template", **FACTS)
    await call.wait()
    assert (call.code, call.stdout) == (Code.FAILED, "")
    assert "step 1 of 1 'web' failed in 2s: error: it is broken" in call.stderr
    assert "job 'mine' failed, StepFailed" in call.stderr
    assert "→ correct the template\n" in call.stderr
    assert f"`nestor logs mine -n {namespace}`" in call.stderr


async def test_run_gives_up_waiting_and_leaves_the_job(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli("run", "registry.test/shop:1", "--name", "slow", "--timeout", "1s")
    assert call.code == Code.TIMED_OUT
    assert "timed out waiting for job 'slow': no status reported yet" in call.stderr
    assert await host.find(kinds.NESTED_APP_JOB, "slow", namespace)


async def test_an_interrupted_run_leaves_the_job_and_says_how_to_go_on(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli.start("run", "registry.test/shop:1", "--name", "long")
    job = await the_job(host, namespace)
    await report(host, job, *not_ready("StepRunning"), steps=[step("web", "Running")], **FACTS)
    await call.read_line("step 1 of 1 'web' is running")
    call.interrupt()
    await call.wait()
    assert call.code == Code.INTERRUPTED
    assert f"nestor status long -n {namespace} --follow" in call.stderr
    assert await host.find(kinds.NESTED_APP_JOB, "long", namespace)


async def test_run_in_the_background_prints_the_name(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli("run", "registry.test/shop:1", "--no-follow")
    assert call.code == Code.OK
    assert await host.find(kinds.NESTED_APP_JOB, call.stdout.strip(), namespace)
    call = await cli("run", "registry.test/shop:1", "-d", "-o", "yaml", "--name", "x")
    assert yaml.safe_load(call.stdout)["metadata"]["name"] == "x"


async def test_run_of_a_job_that_ends_waits_for_its_end_and_removes_it(
    cli: CommandLine, host: Api, namespace: str, tmp_path: Path
) -> None:
    body: dict[str, Any] = {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": "batch"},
        "spec": {"app": {"image": "x"}, "successPolicy": {"targets": [{"kind": "Job", "name": "train"}]}},
    }
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(body))
    call = await cli.start("run", "-f", str(file), "--rm")
    job = await the_job(host, namespace)
    await report(host, job, ADMITTED, CLUSTER, APPLIED, READY, RUNNING, steps=[step("train")], **FACTS)
    await call.read_line("ready")
    ending = condition("Succeeded", "True", "Completed", "Job 'default/train' is complete")
    await report(
        host, job, ADMITTED, CLUSTER, APPLIED, condition("Ready", "False", "Completed"), ending, steps=[step("train")], **FACTS
    )
    await wait_for_none(host, kinds.NESTED_APP_JOB, namespace)
    await call.wait()
    assert call.code == Code.OK
    assert "completed: Job 'default/train' is complete" in call.stderr
    assert "job 'batch' is gone" in call.stderr


async def test_run_refuses_what_there_is_not(cli: CommandLine, host: Api, namespace: str) -> None:
    call = await cli("run", "nothing")
    assert call.code == Code.NOT_FOUND
    assert "no NestedApp 'nothing'" in call.stderr
    await create(host, namespace, "taken")
    call = await cli("run", "registry.test/shop:1", "--name", "taken")
    assert call.code == Code.FAILED
    assert "choose another name with --name" in call.stderr
    call = await cli("run", "registry.test/shop:1", "--name", "Bad")
    assert call.code == Code.FAILED
    assert "`metadata.name` must be at most 52" in call.stderr


MANIFEST = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"


async def test_what_is_on_the_users_machine_comes_in_a_config_map_of_the_jobs(
    cli: CommandLine, host: Api, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "web.yaml").write_text(MANIFEST)
    (tmp_path / "base" / "kustomization.yaml").write_text("resources: [web.yaml]\n")
    (tmp_path / "over").mkdir()
    (tmp_path / "over" / "kustomization.yaml").write_text("resources: [../base]\nnamePrefix: my-\n")
    made = await cli("init", str(tmp_path), "--manifest", str(tmp_path / "base/web.yaml"))
    assert made.code == Code.OK, made.stderr
    ways = {"--manifest": tmp_path / "base/web.yaml", "--kustomize": tmp_path / "over", "-f": tmp_path / "job.yaml"}
    for (option, path), expected in zip(ways.items(), ("web", "my-web", "web"), strict=True):
        target = () if option == "-f" else ("--target", f"{expected}:80")
        call = await cli("run", option, str(path), *target, "-d")
        assert (call.code, call.stderr.count("created")) == (Code.OK, 1), call.stderr
        job = await host.get(kinds.NESTED_APP_JOB, call.stdout.strip(), namespace)
        app = job["spec"]["app"]
        files = await host.get(kinds.CONFIG_MAP, app["templatesFrom"]["configMapRef"]["name"], namespace)
        assert [item["uid"] for item in files["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]]
        (step,) = app["appDef"]["commands"]["Run"]["nested_kubernetes"]["templates"]
        assert yaml.safe_load(files["data"][step["path"]])["metadata"]["name"] == expected
    again = await cli("run", "-f", str(ways["-f"]))
    assert (again.code, "hint: change it with `kubectl apply -f`" in again.stderr) == (Code.FAILED, True)
    ways["-f"].write_text(
        ways["-f"].read_text().replace("name: web}", "name: new}").replace('"global_retry": 3', '"global_retry": 4')
    )
    kubectl = (str(apiserver.binary("kubectl")), f"--kubeconfig={cli.kubeconfig}", "-n", namespace)
    code, said = await children.run(*kubectl, "apply", "-f", str(ways["-f"]), limit=60)
    assert code == 0, said
    assert "name: new" in (await host.get(kinds.CONFIG_MAP, "web-templates", namespace))["data"]["manifest.yaml"]
    refused = await cli("run", "--manifest", str(ways["--manifest"]), "--name", "Bad")
    assert refused.code == Code.FAILED
    assert "`metadata.name` must be at most 52" in refused.stderr
    missing = await cli("run", "--kustomize", str(tmp_path / "none"))
    assert missing.code == Code.USAGE
    assert "error: kubectl kustomize: must build at directory" in missing.stderr
    assert (
        len([item for item in await host.list(kinds.CONFIG_MAP, namespace) if "manifest.yaml" in (item.get("data") or {})]) == 3
    )


async def test_a_chart_is_not_run_where_steps_can_fetch_nothing(cli: CommandLine, host: Api, namespace: str) -> None:
    name = f"{namespace}-closed"
    await host.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": {"network": {"internet": "None"}}})
    chart = ("run", "--chart", "oci://registry.test/web", "--target", "web:80", "-d")
    call = await cli(*chart, "--class", name)
    assert call.code == Code.FAILED
    assert f"class '{name}' lets steps fetch nothing from the internet" in call.stderr
    assert await host.list(kinds.NESTED_APP_JOB, namespace) == []
    made = await host.get(kinds.NESTED_APP_JOB, (await cli(*chart)).stdout.strip(), namespace)
    assert "templatesFrom" not in made["spec"]["app"]
    await host.delete(kinds.NESTED_CLASS, name)


async def test_a_job_that_is_deleted_ends_the_waiting(cli: CommandLine, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    await report(host, job, *not_ready("StepRunning"), steps=[step("web", "Running")], **FACTS)
    call = await cli.start("status", "shop", "--follow")
    await call.read_line("step 1 of 1 'web' is running")
    await host.delete(kinds.NESTED_APP_JOB, "shop", namespace)
    await call.wait()
    assert call.code == Code.FAILED
    assert "job 'shop' was deleted" in call.stderr


async def test_status_and_list(cli: CommandLine, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, steps=[step("web")], url=URL, **FACTS)
    call = await cli("status", "shop")
    assert call.code == Code.OK
    assert f"✓ shop in {namespace}  Ready" in call.stdout
    assert "✓  web  kubectl  2s" in call.stdout
    assert (await cli("wait", "shop", "--for", "ready")).stdout == f"{URL}\n"
    assert "job 'shop' has no events" in (await cli("events", "shop")).stderr
    assert yaml.safe_load((await cli("status", "shop", "-o", "yaml")).stdout)["status"]["url"] == URL
    await report(host, job, *not_ready("StepFailed"), steps=[step("web", "Failed")], **FACTS)
    assert (await cli("status", "shop")).code == Code.FAILED
    assert (await cli("list", "-o", "name")).stdout == "nestedappjob.nestor.dev/shop\n"
    lines = (await cli("list")).stdout.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "URL", "VERSION", "AGE"]
    assert lines[1].split()[:3] == ["shop", "StepFailed", URL]
    assert namespace in (await cli("list", "-A")).stdout
    await host.apply(kinds.NESTED_CLASS, {"metadata": {"name": f"own-{namespace}"}, "spec": {"access": "Permitted"}})
    assert f"own-{namespace}" in (await cli("machines")).stdout
    await host.delete(kinds.NESTED_CLASS, f"own-{namespace}")
    call = await cli("status", "other")
    assert call.code == Code.NOT_FOUND
    assert call.stderr.splitlines() == [
        f"error: no NestedAppJob 'other' in namespace '{namespace}'",
        "hint: `nestor list -A` lists those that exist",
    ]


async def test_a_job_rests_goes_on_and_runs_again(cli: CommandLine, host: Api, namespace: str) -> None:
    await create(host, namespace)
    assert (await cli("suspend", "shop")).stderr == "✓ job 'shop' is being suspended\n"
    assert (await host.get(kinds.NESTED_APP_JOB, "shop", namespace))["spec"]["suspend"] is True
    assert "already suspended" in (await cli("suspend", "shop")).stderr
    assert "once it is resumed" in (await cli("rerun", "shop")).stderr
    assert (await cli("resume", "shop")).code == Code.OK
    job = await host.get(kinds.NESTED_APP_JOB, "shop", namespace)
    assert job["spec"]["suspend"] is False
    assert job["metadata"]["annotations"]["nestor.dev/rerun"]
    asleep = {"status": {"asleep": {"state": "Asleep", "since": "2026-01-01T00:00:00Z"}}}
    await host.patch(kinds.NESTED_APP_JOB, "shop", namespace, asleep, subresource="status")
    assert (await cli("resume", "shop")).code == Code.OK
    assert (await host.get(kinds.NESTED_APP_JOB, "shop", namespace))["metadata"]["annotations"]["nestor.dev/wake"]


async def test_a_rerun_is_followed_from_its_own_beginning(cli: CommandLine, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    await report(host, job, *not_ready("StepFailed"), steps=[step("web", "Failed")], **FACTS)
    call = await cli.start("rerun", "shop", "--follow")
    await call.read_line("all steps of job 'shop' will run again")
    value = (await host.get(kinds.NESTED_APP_JOB, "shop", namespace))["metadata"]["annotations"]["nestor.dev/rerun"]
    await report(host, job, *not_ready("StepRunning"), steps=[step("web", "Running")], rerun=value, **FACTS)
    await call.read_line("step 1 of 1 'web' is running")
    await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, steps=[step("web")], url=URL, **FACTS)
    await call.wait()
    assert (call.code, call.stdout) == (Code.OK, f"{URL}\n")


async def test_in_a_terminal_the_job_is_redrawn_and_its_page_stays(cli: CommandLine, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    await report(host, job, *not_ready("StepRunning"), steps=[step("web", "Running")], **FACTS)
    terminal, inside = pty.openpty()
    starting = children.running(
        sys.executable,
        "-m",
        "nestor",
        "-n",
        namespace,
        "status",
        "shop",
        "--follow",
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "KUBECONFIG": str(cli.kubeconfig),
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "LINES": "40",
        },
    )
    async with starting as process:
        os.close(inside)
        reading = asyncio.create_task(asyncio.to_thread(read_terminal, terminal))
        await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, steps=[step("web")], url=URL, **FACTS)
        assert await process.wait() == Code.OK
        shown = await reading
    os.close(terminal)
    assert "\x1b[32m" in shown
    assert "\x1b[?25l" in shown, "the cursor is hidden while it redraws"
    assert "StepsApplied" in shown
    assert shown.rstrip().endswith(URL)


def read_terminal(descriptor: int) -> str:
    """Everything that was shown until its program ended."""
    shown = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(descriptor, 65536):
            shown += chunk
    return shown.decode()


async def test_delete_waits_until_the_job_is_gone(cli: CommandLine, host: Api, namespace: str) -> None:
    await create(host, namespace)
    await host.patch(kinds.NESTED_APP_JOB, "shop", namespace, {"metadata": {"finalizers": ["nestor.dev/cleanup"]}})
    call = await cli("delete", "shop", "--wait", "--timeout", "1s")
    assert call.code == Code.TIMED_OUT
    call = await cli.start("delete", "shop", "--wait")
    await call.read_line("○ job 'shop' is being deleted, waiting until it is gone")
    await host.patch(kinds.NESTED_APP_JOB, "shop", namespace, {"metadata": {"finalizers": []}})
    await call.wait()
    assert (call.code, call.stderr) == (Code.OK, "✓ job 'shop' is gone\n")


async def test_the_page_is_opened_or_its_absence_explained(cli: CommandLine, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    await report(host, job, *not_ready("StepRunning"))
    call = await cli("open", "shop", "--print")
    assert call.code == Code.FAILED
    assert "job 'shop' has no page at the moment" in call.stderr
    await report(host, job, EXPOSED, READY, url=URL)
    assert (await cli("open", "shop", "--print")).stdout == f"{URL}\n"


async def test_the_catalog(cli: CommandLine, host: Api) -> None:
    body = {"metadata": {"name": "shop-app"}, "spec": {"title": "Shop", "image": "registry.test/shop:1"}}
    await host.apply(kinds.NESTED_APP, body)
    lines = (await cli("apps")).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["NAME", "TITLE"], ["shop-app", "Shop"]]
    call = await cli("apps", "shop-app")
    assert "nestor run shop-app" in call.stdout
    assert (await cli("apps", "other")).code == Code.NOT_FOUND
    assert (await cli("run", "shop-app", "-d")).code == Code.OK
    await host.delete(kinds.NESTED_APP, "shop-app")
