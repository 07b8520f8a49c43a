"""Jobs in all their states as the pages show them."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from nestor.api import labels
from nestor.clients.ui.models import actions, jobs, pods, progress
from nestor.clients.ui.models.inputs import HIDDEN, list_parameters
from nestor.clients.ui.models.jobs import Row, build_row, read_choice
from nestor.clients.ui.pages.lists import keep_row
from tests.unit.clients.cli import builders


@pytest.mark.parametrize(
    ("name", "mood", "word"),
    [
        ("created", "waiting", "Created"),
        ("waiting", "warn", "Image pull failed"),
        ("running", "busy", "Step running"),
        ("retrying", "retry", "Step retrying"),
        ("ready", "good", "Ready"),
        ("failed", "bad", "Step failed"),
        ("completed", "good", "Completed"),
        ("suspended", "waiting", "Suspended"),
    ],
)
def test_a_state_is_a_word_for_people(name: str, mood: str, word: str) -> None:
    found = progress.state_of(builders.STATES[name]())
    assert (found.mood, found.word) == (mood, word)
    assert found.mark


@pytest.mark.parametrize(
    ("name", "change", "possible"),
    [
        ("created", {}, "suspend rerun delete"),
        ("ready", {}, "suspend rerun delete"),
        ("ready", {"metadata": {"deletionTimestamp": builders.ago(1)}}, ""),
        ("failed", {}, "suspend rerun delete"),
        ("suspended", {}, "resume rerun delete"),
        ("ready", {"status": {"asleep": {"state": "Asleep"}}}, "resume rerun delete"),
        ("completed", {}, "rerun rerun_empties delete"),
        ("completed", {"spec": {"suspend": True}}, "rerun rerun_empties delete"),
    ],
)
def test_what_can_be_done_follows_from_the_state(name: str, change: dict[str, Any], possible: str) -> None:
    job = builders.STATES[name]()
    for part, fields in change.items():
        job[part] |= fields
    found = actions.list_actions(job)
    assert " ".join(key for key, can in vars(found).items() if can) == possible


def test_the_page_of_a_job_that_is_being_deleted_is_not_opened() -> None:
    job = builders.ready()
    job["metadata"]["deletionTimestamp"] = builders.ago(1)
    assert jobs.open_url(job) == ""


def test_the_time_line_says_what_is_done_and_what_is_waited_for() -> None:
    found = [
        (stage.title, stage.state.mood, stage.state.word, stage.message) for stage in progress.list_stages(builders.retrying())
    ]
    assert found[1:] == [
        ("Cluster", "good", "done", "v1.36.2+k3s1 answers"),
        ("Steps", "retry", "Step retrying", "step 2 of 3 'web' will be retried"),
    ]
    assert progress.list_stages(builders.completed())[-1].title == "End"
    assert progress.list_stages(builders.failed())[-1].state.mood == "bad"


def test_steps_have_attempts_and_what_went_wrong_without_colours() -> None:
    found = progress.list_steps(builders.retrying())
    assert [step.state.word for step in found] == ["succeeded", "retrying", "pending"]
    assert found[1].attempts == "attempt 1 of 11"
    assert found[1].output == "kubectl exited with code 1: namespace/web\nerror: no such host"
    assert not found[0].output


def row(name: str, state: str, age: int, **more: Any) -> Row:
    job = builders.STATES[state]()
    job["metadata"] |= {"name": name, "creationTimestamp": builders.ago(age)} | more
    return build_row(job)


ROWS = (
    row("b", "failed", 30, annotations={labels.CREATED_BY: "Jane"}),
    row("c", "ready", 10, namespace="team-b"),
    row("a", "retrying", 20),
)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({}, "cab"),
        ({"sort": "-age"}, "bac"),
        ({"sort": "name"}, "abc"),
        ({"sort": "-name"}, "cba"),
        ({"sort": "state"}, "cba"),
        ({"sort": "-namespace"}, "cab"),
        ({"sort": "app"}, "cab"),
        ({"sort": "owner"}, "cab"),
        ({"state": "failed"}, "b"),
        ({"state": "progress"}, "a"),
        ({"state": "ready"}, "c"),
        ({"state": "idle"}, ""),
        ({"text": " JANE  step "}, "b"),
        ({"text": "team-b"}, "c"),
        ({"text": "step", "state": "progress"}, "a"),
        ({"text": "c<b"}, ""),
        ({"text": "c" + 100 * " " + "x"}, "c"),
        ({"sort": "x", "state": "x"}, "cab"),
        ({"sort": "--name"}, "cab"),
    ],
)
def test_a_list_shows_what_its_address_asks_for(query: dict[str, str], shown: str) -> None:
    choice = read_choice("team-a", query)
    assert "".join(found.name for found in choice.pick(ROWS)) == shown
    # The address of another order keeps the rest.
    *_, path = choice.list_columns()[0]
    again = read_choice("team-a", dict(parse_qsl(urlsplit(path).query)))
    assert (again.text, again.state, again.sort) == (
        choice.text,
        choice.state,
        "-name" if query.get("sort") == "name" else "name",
    )


def test_a_list_of_jobs_keeps_their_rows_and_what_tells_them_apart() -> None:
    job = builders.ready()
    job["metadata"] |= {"managedFields": [{"manager": "kubectl"}], "resourceVersion": "1"}
    kept = keep_row(job)
    assert kept.keys() == {"metadata", "row"}
    assert kept["metadata"].keys() == {"name", "namespace", "uid", "resourceVersion"}


def test_a_row_says_who_why_and_where() -> None:
    job = builders.waiting()
    job["metadata"]["annotations"] = {labels.CREATED_BY: "jane"}
    found = build_row(job)
    assert (found.owner, found.path, found.url) == ("jane", "/jobs/team-a/shop", "")
    assert "no such host" in found.message
    found = build_row(builders.ready())
    assert (found.owner, found.url, found.message) == ("", "http://shop-team-a.apps.test/", "")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//x", "http://[", "ftp://x/", "", None, 5])
def test_a_link_leads_to_the_web_and_nowhere_else(url: Any) -> None:
    job = builders.ready()
    job["status"]["url"] = url
    assert jobs.open_url(job) == ""


def test_passwords_are_not_shown() -> None:
    job = builders.ready()
    parameters = {"SIZE": {"type": "INT"}, "PIN": {"type": "password"}}
    job["spec"]["app"]["appDef"]["commands"] = {"Start": {"parameters": parameters}}
    job["spec"] |= {"parameters": {"SIZE": 3, "PIN": "1234", "DB_PASSWORD": "hunter2", "L": ["a", "b"]}}
    job["spec"]["parametersFrom"] = {"secretRef": {"name": "mine"}}
    assert list_parameters(job) == [
        ("SIZE", "3"),
        ("PIN", HIDDEN),
        ("DB_PASSWORD", HIDDEN),
        ("L", "a, b"),
        ("further values", "from Secret 'mine', not shown"),
    ]


def test_the_numbers_of_pods_are_told_by_place() -> None:
    job = builders.ready()
    assert pods.list_counts(job) == [("In this cluster", "3 running")]
    places = [{"name": "host", "running": 2}, {"name": "hpc", "running": 1, "starting": 1, "reason": "no room here"}]
    job["status"]["pods"] = {"running": 3, "waiting": 3, "places": places}
    assert pods.list_counts(job) == [
        ("In this cluster", "2 running"),
        ("At backend 'hpc'", "1 running, 1 starting: no room here"),
        ("Waiting for a node", "2"),
    ]


@pytest.mark.parametrize(
    ("part", "key", "keeper"),
    [
        ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD"),
        ("labels", "helm.toolkit.fluxcd.io/name", "Flux"),
        ("annotations", "meta.helm.sh/release-name", "Helm"),
        ("labels", "app.kubernetes.io/managed-by", ""),
    ],
)
def test_each_that_keeps_jobs_by_files_is_known(part: str, key: str, keeper: str) -> None:
    job = builders.ready()
    job["metadata"][part] = {key: "shop"}
    assert jobs.find_keeper(job) == keeper


def test_the_end_follows_from_the_limits() -> None:
    job = builders.running()
    nothing = actions.Ends("", "", is_limited=False, is_endless=True, can_run_longer=False, can_be_kept=False)
    assert actions.find_ends(job) == nothing
    job["spec"] |= {"activeDeadlineSeconds": 3600, "ttlSecondsAfterFinished": 60}
    limited = actions.Ends(builders.ago(94 - 3600), "", is_limited=True, is_endless=False, can_run_longer=True, can_be_kept=True)
    assert actions.find_ends(job) == limited
    job["status"]["completionTime"] = builders.ago(4)
    over = actions.Ends("", builders.ago(4 - 60), is_limited=False, is_endless=False, can_run_longer=False, can_be_kept=True)
    assert actions.find_ends(job) == over


def test_a_job_ends_by_its_class_too() -> None:
    job = builders.running()
    job["status"]["activeDeadlineSeconds"] = 1800
    found = actions.find_ends(job)
    assert (found.stops, found.is_endless, found.can_run_longer) == (builders.ago(94 - 1800), False, False)
    job["spec"]["activeDeadlineSeconds"] = 3600
    assert actions.find_ends(job).stops == builders.ago(94 - 1800)


def test_nothing_else_is_said_to_stop_a_job_only_where_that_is_known() -> None:
    job = builders.running()
    job["spec"]["successPolicy"] = {"targets": [{"kind": "Job", "name": "x"}]}
    assert not actions.find_ends(job).is_endless
    del job["spec"]["successPolicy"], job["status"]["startTime"]
    found = actions.find_ends(job)
    assert (found.is_endless, found.is_limited) == (False, False), "its class may have a limit"


def test_the_end_is_told_once() -> None:
    """What `Ready` or a stage says already is not said again."""
    job = builders.ready()
    end = {"type": "Succeeded", "status": "True", "reason": "Completed", "message": "Job x is done"}
    job["status"]["conditions"] = [item for item in job["status"]["conditions"] if item["type"] != "Succeeded"] + [end]
    assert progress.list_stages(job)[-1].message == "Job x is done"
    job["status"]["conditions"][-1] |= {"message": progress.list_stages(job)[0].message}
    assert [stage.title for stage in progress.list_stages(job)].count("End") == 0


def test_a_job_without_a_policy_has_no_end_to_wait_for() -> None:
    job = builders.running()
    waits = {"type": "Succeeded", "status": "Unknown", "reason": "Running", "message": "it is still to be seen"}
    job["status"]["conditions"] = [item for item in job["status"]["conditions"] if item["type"] != "Succeeded"] + [waits]
    assert "End" not in [stage.title for stage in progress.list_stages(job)]
    job["spec"]["successPolicy"] = {"targets": [{"kind": "Job", "name": "x"}]}
    assert progress.list_stages(job)[-1].title == "End"


def test_a_step_that_is_tried_once_has_no_attempts() -> None:
    job = builders.ready()
    job["status"]["steps"] = [{"name": "a", "state": "Failed", "attempt": 1, "maxAttempts": 1, "message": "\x1b[31mno\x1b[0m"}]
    (step,) = progress.list_steps(job)
    assert (step.attempts, step.output) == ("", "no")
    job["status"]["steps"][0] |= {"maxAttempts": 3, "state": "Succeeded"}
    assert progress.list_steps(job)[0].attempts == "", "the first try was enough"
    job["status"]["steps"][0] |= {"attempt": 2}
    assert progress.list_steps(job)[0].attempts == "attempt 2 of 3"
