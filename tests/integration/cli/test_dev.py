"""`nestor dev`: a folder's changes reach the cluster of its job, which the test's own API server plays."""

from pathlib import Path

from nestor.clients.cli.exits import Code
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.cli.conftest import CommandLine, Kubelet, give_cluster, report
from tests.integration.cli.test_run import URL, not_ready, the_job
from tests.unit.clients.cli.builders import ADMITTED, APPLIED, CLUSTER, EXPOSED, READY, RUNNING, condition, step
from tests.waiting import exists, gone

MAIN = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 9, "state": {"running": {}}}
RESTARTED = {"containerStatuses": [MAIN]}


async def test_each_change_of_a_folder_is_applied(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, namespace: str, kubelet: Kubelet, tmp_path: Path
) -> None:
    def write(name: str, value: str, folder: str = "shop") -> None:
        (tmp_path / folder).mkdir(exist_ok=True)
        meta = f"{{name: {name}, namespace: {namespace}}}"
        (tmp_path / folder / f"{name}.yaml").write_text(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {meta}\ndata: {{value: {value}}}\n"
        )

    write("a", "one")
    write("b", "one")
    call = await cli.start("dev", str(tmp_path / "shop"), "--target", "web:80")
    job = await the_job(host, namespace)
    await give_cluster(host, control_plane, job)
    failed = condition("Succeeded", "False", "StepFailed", "step 1 of 1 'shop' failed")
    steps = [step("shop", "Failed")]
    await report(host, job, *not_ready("StepFailed")[:-1], failed, steps=steps, kubernetesVersion="v1.36.2")
    await call.read_line("✓ applied, 0 changed")
    await exists(host, kinds.CONFIG_MAP, "a", namespace)

    job = await exists(
        host,
        kinds.NESTED_APP_JOB,
        job["metadata"]["name"],
        namespace,
        lambda found: "nestor.dev/rerun" in found["metadata"]["annotations"],
    )
    value = job["metadata"]["annotations"]["nestor.dev/rerun"]
    await report(host, job, ADMITTED, CLUSTER, APPLIED, EXPOSED, READY, RUNNING, steps=[step("shop")], url=URL, rerun=value)
    (tmp_path / "shop" / "b.yaml").write_text("kind: [\n")
    await call.read_line("b.yaml: line ")
    (tmp_path / "shop" / "a.yaml").unlink()
    write("b", "two")
    await call.read_line("~ ConfigMap 'b'")
    await call.read_line("- ConfigMap 'a'")
    await gone(host, kinds.CONFIG_MAP, "a", namespace)
    assert (await host.get(kinds.CONFIG_MAP, "b", namespace))["data"] == {"value": "two"}
    name = job["spec"]["app"]["templatesFrom"]["configMapRef"]["name"]
    await exists(host, kinds.CONFIG_MAP, name, namespace, lambda found: "two" in found["data"]["manifest.yaml"])
    await kubelet.run("web", namespace, "")
    await host.patch(kinds.POD, "web", namespace, {"status": RESTARTED}, subresource="status")
    await call.read_line("pod 'web', container 'main': restarted 9 times")
    call.interrupt()
    await call.wait()
    assert (call.code, call.stdout) == (Code.INTERRUPTED, f"{URL}\n")
    assert f"nestor delete {job['metadata']['name']} -n {namespace}" in call.stderr
    call = await cli.start("dev", str(tmp_path / "shop"), job["metadata"]["name"])
    await call.read_line("✓ applied, 0 changed")
    write("c", "two", "other")
    stranger = await cli.start("dev", str(tmp_path / "other"), job["metadata"]["name"])
    await stranger.read_line("Delete ConfigMap 'b'? [y/N] error: cancelled")
    stranger.interrupt()
    await stranger.wait()
    assert await host.find(kinds.CONFIG_MAP, "b", namespace)
    await host.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace)
    await call.wait()
    assert (call.code, "was deleted" in call.stderr) == (Code.FAILED, True)
