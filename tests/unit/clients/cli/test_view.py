"""What users see of a job: pages and stories, by golden files in both forms."""

from typing import Any

import pytest
from rich.console import Group
from rich.text import Text

from nestor.api import conditions
from nestor.api.times import parse_duration
from nestor.clients.cli.commands import apps, listing
from nestor.clients.cli.console import ASCII, Symbols, clean
from nestor.clients.cli.follow import render_live
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import Ending, find_ending, mood, pick_line
from nestor.clients.cli.view.job import render_page
from nestor.clients.cli.view.story import Story
from tests.unit.clients.cli import builders, golden
from tests.unit.clients.cli.builders import NOW, STATES


@pytest.mark.parametrize(
    ("state", "form"), [*((state, "plain") for state in STATES), ("ready", "terminal"), ("retrying", "terminal")]
)
def test_a_jobs_page(state: str, form: str) -> None:
    golden.check(f"status-{state}.{form}.txt", golden.render(render_page(STATES[state](), NOW, Symbols()), form))


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], "3 running, 1 waiting"),
        ([("host", 3, 1)], "3 running, 1 waiting"),
        (
            [("host", 1, 0), ("hpc", 2, 1)],
            "3 running, 1 waiting (1 running in the host cluster, 2 running and 1 starting at backend 'hpc')",
        ),
        ([("hpc", 3, 0)], "3 running, 1 waiting (3 running at backend 'hpc')"),
        ([("x\x1b", 3, 0)], "3 running, 1 waiting (3 running at backend 'x"),
    ],
)
def test_where_its_pods_are_is_said_if_some_are_elsewhere(places: list[tuple[str, int, int]], expected: str) -> None:
    listed = [{"name": name, "running": running, "starting": starting} for name, running, starting in places]
    job = builders.ready()
    job["status"]["pods"] = {"running": 3, "waiting": 1, "places": listed}
    page = golden.render(render_page(job, NOW, Symbols()), "plain")
    assert expected in " ".join(page.split())
    assert "\x1b" not in page


def test_why_pods_are_elsewhere_is_said() -> None:
    job = builders.ready()
    away = {"name": "hpc", "running": 2, "starting": 0, "reason": "it requests 'nvidia.com/gpu'\x1b"}
    job["status"]["pods"] = {"running": 3, "waiting": 0, "places": [{"name": "host", "running": 1, "starting": 0}, away]}
    page = golden.render(render_page(job, NOW, Symbols()), "plain")
    assert "Why there backend 'hpc': it requests 'nvidia.com/gpu'" in " ".join(page.split())
    assert "\x1b" not in page


@pytest.mark.parametrize(("state", "form"), [("created", "plain"), ("running", "plain"), ("running", "terminal")])
def test_a_job_that_is_followed(state: str, form: str) -> None:
    note = "no status reported yet" if state == "created" else ""
    shown = render_live(STATES[state](), NOW, Symbols(), elapsed=75.3, spinner=Text("⠋", "busy"), note=note)
    golden.check(f"live-{state}.{form}.txt", golden.render(shown, form))


def test_a_page_for_terminals_that_know_ascii_alone() -> None:
    page = golden.render(render_page(builders.running(), NOW, ASCII), "plain")
    assert page.isascii()
    assert "*  web" in page


def test_the_story_of_a_job_tells_each_thing_once() -> None:
    story = Story()
    lines = []
    for state in ("created", "waiting", "waiting", "retrying", "running", "ready", "ready"):
        lines += story.tell(STATES[state](), NOW)
    golden.check("story-ready.txt", "".join(line + "\n" for line in lines))


@pytest.mark.parametrize("state", ["failed", "completed", "suspended"])
def test_the_story_of_a_job_that_ends(state: str) -> None:
    lines = Story().tell(STATES[state](), NOW)
    golden.check(f"story-{state}.txt", "".join(line + "\n" for line in lines))


def test_a_restart_tells_the_steps_again() -> None:
    story = Story()
    story.tell(builders.ready(), NOW)
    job = builders.ready()
    job["status"]["restarts"] = 1
    lines = story.tell(job, NOW)
    assert lines[0] == "restart 1: the application starts over in an empty cluster"
    assert "step 1 of 2 'database' succeeded in 2s" in lines


@pytest.mark.parametrize("form", golden.FORMS)
def test_the_list_of_jobs(form: str) -> None:
    jobs = [STATES[state]() for state in STATES]
    for state, job in zip(STATES, jobs, strict=True):
        job["metadata"]["name"] = state
    head, rows = listing.build_rows(jobs, NOW, all_namespaces=True, wide=True)
    table: list[list[str | Text]] = [[*head], *rows]
    lines = Group(*[Text(" | ").join([cell if isinstance(cell, Text) else Text(cell) for cell in row]) for row in table])
    golden.check(f"list.{form}.txt", golden.render(lines, form))


@pytest.mark.parametrize("form", golden.FORMS)
def test_an_application_of_the_catalog(form: str) -> None:
    parameters: dict[str, Any] = {
        "replicas": {"type": "INT", "name": "Replicas", "value": 2},
        "title": {"type": "STR", "required": True},
    }
    app: dict[str, Any] = {
        "metadata": {"name": "shop", "creationTimestamp": builders.ago(3600)},
        "spec": {"description": "Sells things.", "appDef": {"commands": {"Start": {"parameters": parameters}}}},
        "status": {
            "title": "Shop",
            "commands": [{"id": "Start", "name": "Start it", "description": "Opens the shop."}],
            "conditions": [builders.condition("Accepted", "True", "Accepted")],
        },
    }
    golden.check(f"app.{form}.txt", golden.render(apps.render_app(app), form))
    unread = {"conditions": [builders.condition("Accepted", "True", "Accepted", "its commands are not known")]}
    assert "its commands are not known" in golden.render(apps.render_app(app | {"status": unread}), form)


@pytest.mark.parametrize(
    ("state", "until_finished", "expected"),
    [
        ("created", False, None),
        ("waiting", False, None),
        ("running", False, None),
        ("retrying", False, None),
        ("ready", False, (True, "AppReady")),
        ("ready", True, None),
        ("failed", False, (False, "StepFailed")),
        ("completed", True, (True, "Completed")),
        ("completed", False, (True, "Completed")),
        ("suspended", False, (True, "Suspended")),
        ("suspended", True, None),
    ],
)
def test_when_waiting_ends(state: str, until_finished: bool, expected: tuple[bool, str] | None) -> None:
    ending = find_ending(STATES[state](), until_finished=until_finished)
    assert (ending and (ending.is_good, ending.reason)) == expected


@pytest.mark.parametrize("reason", [reason for reason in conditions.REASONS if reason.needs == "user"])
def test_what_only_the_user_can_mend_ends_the_wait(reason: conditions.Reason) -> None:
    job = builders.running()
    job["status"]["conditions"] = [builders.condition("Ready", "False", reason, "why")]
    assert find_ending(job, until_finished=False) == Ending(False, reason, "why")
    assert mood(job) == ("bad", reason)


REFUSED = builders.condition("Admitted", "False", "AppNotFound", "no NestedApp 'training'")


@pytest.mark.parametrize(
    ("state", "asked", "seen", "generation", "is_refused", "expected"),
    [
        ("ready", "", "", 2, False, None),  # the status is of an earlier spec
        ("failed", "2", "1", 1, False, None),  # it is of the run before the one that was asked for
        ("failed", "2", "2", 1, False, (False, "StepFailed")),
        ("completed", "2", "1", 1, True, (False, "AppNotFound")),  # not the success of the run before
        ("completed", "2", "1", 2, True, None),  # the refusal is an earlier spec's
        ("completed", "1", "1", 1, True, (True, "Completed")),  # what is refused afterwards has still ended well
    ],
)
def test_what_is_told_of_another_run_or_spec_ends_nothing(
    state: str, asked: str, seen: str, generation: int, is_refused: bool, expected: tuple[bool, str] | None
) -> None:
    job = STATES[state]()
    job["metadata"] |= {"annotations": {"nestor.dev/rerun": asked}, "generation": generation}
    job["status"]["rerun"] = seen
    if is_refused:
        job["status"]["conditions"][0] = REFUSED
    ending = find_ending(job, until_finished=state == "completed")
    assert (ending and (ending.is_good, ending.reason)) == expected


def test_a_job_that_restarts_has_not_failed() -> None:
    job = builders.failed()
    for found in job["status"]["conditions"][-2:]:
        found |= {"reason": "Restarting", "status": "Unknown" if found["type"] == "Succeeded" else "False"}
    assert mood(job)[0] == "retry"
    assert find_ending(job, until_finished=False) is None


def test_short_durations() -> None:
    seconds = [0, 59.9, 119, 120, 185, 660, 7199, 7200, 9000, 172800, 176400, 5184000]
    assert " ".join(map(times.short, seconds)) == "0s 59s 119s 2m 3m5s 11m 119m 2h 2h30m 2d 2d1h 60d"


@pytest.mark.parametrize(("text", "expected"), [("90", 90), ("90s", 90), ("1h30m", 5400), ("1.5m", 90), ("2d", 172800)])
def test_time_spans(text: str, expected: float) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "5 m", "-1s", "m", "5x"])
def test_what_is_no_time_span(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


def test_clocks_that_differ_make_no_negative_time() -> None:
    assert times.seconds_between(builders.ago(-5), None, NOW) == 0
    assert times.parse_time("yesterday") is None


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("a\nerror: b\nc", "error: b"),
        ("a\n\nb\n", "b"),
        ("", ""),
        ("x" * 300, "x" * 199 + "…"),
        ("pods is forbidden\nbye", "pods is forbidden"),
    ],
)
def test_the_line_that_says_most(message: str, expected: str) -> None:
    assert pick_line(message) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ä ✓\n\ttab", "plain ä ✓\n\ttab"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd"),
        ("a\r\nb\rc", "a\nb\ufffdc"),
        ("\u202eevil", "\ufffdevil"),
    ],
)
def test_nothing_steers_the_terminal(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_pages_survive_a_status_of_another_version() -> None:
    odd = builders.build_job(builders.condition("Future", "True", "New"), steps=[{"name": "x", "state": "Resting"}])
    assert "x" in golden.render(render_page(odd, NOW, Symbols()), "plain")
