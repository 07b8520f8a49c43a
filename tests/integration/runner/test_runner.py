import re
import signal

import yaml

from nestor.api.contracts.runner import Exit
from nestor.apps.runner import processes
from nestor.kube import kinds
from tests.integration import apiserver
from tests.integration.runner.conftest import Stage
from tests.waiting import eventually


def config_map(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: default\n"


CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: first, namespace: default}\n"
UNKNOWN = "apiVersion: example.org/v1\nkind: Unknown\nmetadata: {name: x}\n"


async def test_steps_run_in_order_and_leave_their_objects_and_a_record(stage: Stage) -> None:
    stage.write(namespace="apiVersion: v1\nkind: Namespace\nmetadata: {name: ordered}\n")
    stage.write(inside=config_map("inside").replace("default", "ordered"))
    runner = await stage.run(stage.plan({"name": "namespace"}, {"name": "inside"}))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert await stage.states() == [("Succeeded", 1), ("Succeeded", 1)]
    assert await stage.api.find(kinds.CONFIG_MAP, "inside", "ordered") is not None
    assert "[namespace] namespace/ordered created" in runner.lines
    assert "[inside] configmap/inside created" in runner.lines
    assert re.fullmatch(r"all steps succeeded in \d+\.\d s", runner.lines[-1])
    step = (await stage.record())["steps"][0]
    assert (step["exitCode"], step["message"], step["startTime"] <= step["completionTime"]) == (0, "", True)


async def test_a_step_is_retried_until_what_it_needs_is_there(stage: Stage) -> None:
    stage.write(crd=CRD, widget=WIDGET)
    # The CRD comes by another hand while the step fails, as from an operator that an earlier step has started.
    runner = await stage.start(stage.plan({"name": "widget", "retry": 20, "retry_sleep_seconds": 1}))
    await runner.wait_for_line("attempt 2 of 21 in 1 s")
    assert (await stage.states())[0] in [("Retrying", 1), ("Running", 2)]
    assert 'no matches for kind "Widget"' in (await stage.record())["steps"][0]["message"]
    await stage.api.create(kinds.CRD, yaml.safe_load(CRD))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert (await stage.states())[0][1] >= 2
    await stage.api.delete(kinds.CRD, "widgets.example.com")


async def test_a_refused_template_fails_after_its_attempts_with_kubectls_last_lines(stage: Stage) -> None:
    stage.write(fine=config_map("fine"), broken=UNKNOWN, never=config_map("never"))
    plan = stage.plan({"name": "fine"}, {"name": "broken", "retry": 2, "retry_sleep_seconds": 0}, {"name": "never"})
    runner = await stage.run(plan)
    assert await runner.wait() == Exit.STEP_FAILED
    assert await stage.states() == [("Succeeded", 1), ("Failed", 3), ("Pending", 0)]
    broken = (await stage.record())["steps"][1]
    assert broken["message"].startswith("kubectl exited with code 1: ")
    assert 'no matches for kind "Unknown" in version "example.org/v1"' in broken["message"]
    assert (broken["exitCode"], broken["maxAttempts"]) == (1, 3)
    assert (await stage.record())["state"] == "Failed"
    assert runner.lines[-1] == "step 'broken' failed, 1 not run"
    assert await stage.api.find(kinds.CONFIG_MAP, "never", "default") is None


async def test_a_missing_template_fails_at_once_and_names_those_there_are(stage: Stage) -> None:
    stage.write(a=config_map("a"), b=config_map("b"))
    runner = await stage.run(stage.plan({"name": "x", "retry": 9, "retry_sleep_seconds": 60}))
    assert await runner.wait() == Exit.STEP_FAILED
    assert await stage.states() == [("Failed", 1)]
    message = (await stage.record())["steps"][0]["message"]
    assert message == "template 'x.yml' does not exist in /templates (found: a.yml, b.yml)"


def is_alive(pid: int) -> bool:
    return any(process.pid == pid and process.is_alive for process in processes.read_all())


async def test_a_killed_runners_kubectl_ends_with_it(stage: Stage) -> None:
    stage.write(a=config_map("orphaned"))
    stage.slow_down("a")
    runner = await stage.with_whole_starts().start(stage.plan({"name": "a"}))
    await runner.wait_for_line("going slow")
    kubectl = stage.read_kubectl()
    runner.send(signal.SIGKILL)
    await runner.wait_for_end()

    async def is_over() -> bool:
        return not is_alive(kubectl)

    await eventually(is_over)
    stage.speed_up()
    assert await stage.api.find(kinds.CONFIG_MAP, "orphaned", "default") is None


async def test_a_runner_that_was_replaced_while_it_lives_stops_after_its_attempt(stage: Stage) -> None:
    stage.write(a=config_map("taken"), b=config_map("over"))
    plan = stage.plan({"name": "a"}, {"name": "b"})
    stage.slow_down("a")
    lost = await stage.start(plan)
    await lost.wait_for_line("[a] going slow")
    successor = await stage.start(plan)
    await successor.wait_for_line("[a] going slow")
    stage.speed_up()
    assert await lost.wait() == Exit.SUPERSEDED, lost.log
    assert lost.lines[-1] == "no result: another runner has taken over; this one stops"
    assert await successor.wait() == Exit.SUCCEEDED, successor.log
    assert await stage.states() == [("Succeeded", 1), ("Succeeded", 1)]


async def test_a_step_that_hangs_is_ended_at_its_limit(stage: Stage) -> None:
    stage.write(a=config_map("a"))
    stage.slow_down("a")
    # Until it is ended: this kubectl never comes to an end by itself, nor does the wait below, without failing.
    runner = await stage.run(stage.plan({"name": "a", "timeout_seconds": 1, "retry": 1, "retry_sleep_seconds": 0}))
    assert await runner.wait() == Exit.STEP_FAILED
    step = (await stage.record())["steps"][0]
    assert step["message"] == "timed out after 1 s, stopped; its last output:\ngoing slow"
    assert ("exitCode" in step, step["attempt"]) == (False, 2)


async def test_a_cluster_that_never_comes_up_is_no_result(stage: Stage) -> None:
    [port] = apiserver.free_ports(1)
    lost = stage.folder / "lost.kubeconfig"
    lost.write_text(re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", stage.kubeconfig.read_text()))
    plan = stage.plan({"name": "a"}).model_copy(update={"start_timeout_seconds": 1})
    runner = await stage.start(plan, lost)
    assert await runner.wait() == Exit.NO_API
    assert f"the nested API at https://127.0.0.1:{port} was not ready within 1 s: " in runner.log
    assert "Connect call failed" in runner.log
