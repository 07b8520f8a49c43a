"""What users, and those who are none, put into templates and scripts."""

import signal

from nestor.api.contracts.runner import Exit
from nestor.kube import kinds
from tests.integration.runner.conftest import Stage


async def test_what_a_script_leaves_in_the_background_does_not_meet_the_next_step(stage: Stage) -> None:
    daemon = (
        "setsid sh -c 'echo $$ > daemon.pid; trap \"\" TERM; while :; do sleep 1; done' & "
        "while [ ! -e daemon.pid ]; do sleep 0.1; done"
    )
    check = "kill -0 $(cat daemon.pid) 2> /dev/null && echo alive || echo gone"
    runner = await stage.run(stage.plan(stage.script("leave", daemon), stage.script("check", check)))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert "[check] gone" in runner.lines
    assert any(line.startswith("[leave] ended ") and "left in the background: s" in line for line in runner.lines)


async def test_a_fork_bomb_is_ended_with_the_reason_and_the_next_attempt_begins(stage: Stage) -> None:
    bomb = "[ $NESTOR_ATTEMPT = 2 ] && exit 0; i=0; while [ $i -lt 2000 ]; do sleep 60 & i=$((i+1)); done; wait"
    runner = await stage.run(stage.plan(stage.script("bomb", bomb, retry=1, retry_sleep_seconds=0)))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert await stage.states() == [("Succeeded", 2)]
    assert "processes at the same time, more than the allowed 512, stopped" in runner.log


async def test_a_killed_runner_never_repeats_what_an_earlier_step_did(stage: Stage) -> None:
    create = "echo '{{apiVersion: v1, kind: ConfigMap, metadata: {{generateName: {}-}}}}' | kubectl create -f -"
    plan = stage.plan(*(stage.script(name, create.format(name)) for name in ("first", "second", "third")))
    stage.slow_down("second")
    runner = await stage.with_whole_starts().start(plan)
    await runner.wait_for_line("[first] succeeded")
    await runner.wait_for_line("[second] going slow")
    runner.send(signal.SIGKILL)
    await runner.wait_for_end()
    assert await stage.states() == [("Succeeded", 1), ("Running", 1), ("Pending", 0)]

    successor = await stage.start(plan)
    await successor.wait_for_line("[second] going slow")
    assert "resuming after 1 of 3 steps" in successor.lines
    assert "[first]" not in successor.log
    successor.send(signal.SIGTERM)
    assert await successor.wait() == Exit.STOPPED
    assert "stopped during attempt 1" in (await stage.record())["steps"][1]["message"]

    stage.speed_up()
    last = await stage.run(plan)
    assert await last.wait() == Exit.SUCCEEDED, last.log
    found = [item["metadata"]["name"] for item in await stage.api.list(kinds.CONFIG_MAP, "default")]
    assert [sum(name.startswith(prefix) for name in found) for prefix in ("first-", "third-")] == [1, 1]
    # Begun three times; a runner that is killed cannot know what became of it, so steps are to be repeatable.
    assert sum(name.startswith("second-") for name in found) >= 1
    assert await stage.states() == [("Succeeded", 1)] * 3
