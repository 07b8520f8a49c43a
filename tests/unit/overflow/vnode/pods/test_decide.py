"""What is done about a pod on a virtual node, as a table."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.overflow.vnode.pods.decide import FORGET_SECONDS, LOST_SECONDS, ORPHAN_SECONDS, Action, Facts, decide, find_due


def pod(phase: str = "Pending", *, deleting: bool = False) -> Object:
    return {"metadata": {"name": "web"} | ({"deletionTimestamp": "t"} if deleting else {}), "status": {"phase": phase}}


def facts(host: Object | None, mark: Any = "", there: Any = "Unknown", **others: Any) -> Facts:
    return Facts(host, mark, there, **others)


NEW, RUNNING, ENDED, DELETED = pod(), pod("Running"), pod("Failed"), pod("Running", deleting=True)
DOWN, ASKED = {"is_answering": False}, {"was_asked": True}
LATE = {"waited": 61.0, "pending_seconds": 60.0}

TABLE: list[tuple[str, Facts, Action]] = [
    ("a new pod is sent", facts(NEW), "Create"),
    ("not to a backend that does not answer", facts(NEW, **DOWN), "Wait"),
    ("not twice at the same time", facts(NEW, is_creating=True), "Wait"),
    ("a DaemonSet's pod stays", facts(NEW, is_declined=True), "Decline"),
    ("a DaemonSet's pod stays, however late", facts(NEW, is_declined=True, **LATE), "Decline"),
    ("a refused pod fails", facts(NEW, is_refused=True), "Refuse"),
    ("a refused pod fails though the backend is down", facts(NEW, is_refused=True, **DOWN), "Refuse"),
    # An answer to a create was lost.
    ("sent, and nobody knows: the next statuses tell", facts(NEW, "Sending"), "Wait"),
    ("sent, and the backend has it", facts(NEW, "Sending", "Present"), "Report"),
    ("sent, and it is not among the statuses: again", facts(NEW, "Sending", missing=0.0), "Create"),
    ("sent, and certainly not there: again", facts(NEW, "Sending", "Gone"), "Create"),
    ("sent, missing, and the backend is down", facts(NEW, "Sending", missing=0.0, **DOWN), "Wait"),
    # Running.
    ("accepted: what the backend says", facts(NEW, "Accepted", "Present"), "Report"),
    ("accepted, and nothing was said yet", facts(NEW, "Accepted"), "Wait"),
    ("last known status is reported while the backend is down", facts(RUNNING, "Accepted", "Present", **DOWN), "Report"),
    ("missing for a moment", facts(RUNNING, "Accepted", "Present", missing=1.0), "Report"),
    ("missing for long", facts(RUNNING, "Accepted", "Present", missing=LOST_SECONDS + 1), "Confirm"),
    ("missing for long since the start of this process", facts(RUNNING, "Accepted", missing=LOST_SECONDS + 1), "Confirm"),
    ("missing, and now the backend is down", facts(RUNNING, "Accepted", "Present", missing=LOST_SECONDS + 1, **DOWN), "Report"),
    ("forgotten by the backend", facts(RUNNING, "Accepted", "Gone"), "Lose"),
    ("never sent again once it was accepted", facts(NEW, "Accepted", "Gone"), "Lose"),
    # Bounced.
    ("late, and never sent", facts(NEW, **LATE), "Bounce"),
    ("late, never sent, and the backend is down", facts(NEW, **LATE, **DOWN), "Bounce"),
    ("late, refused again and again", facts(NEW, is_refused=True, **LATE), "Bounce"),
    ("late at the backend", facts(NEW, "Accepted", "Present", **LATE), "Withdraw"),
    ("late, perhaps at the backend", facts(NEW, "Sending", **LATE), "Withdraw"),
    ("late, and the backend is down", facts(NEW, "Accepted", "Present", **LATE, **DOWN), "Wait"),
    ("late, sent, and not known there yet: it may arrive", facts(NEW, "Sending", "Gone", **LATE), "Withdraw"),
    ("late, sent, not known there, and asked to end", facts(NEW, "Sending", "Gone", **LATE, **ASKED), "Bounce"),
    ("late, asked, not confirmed", facts(NEW, "Accepted", "Present", **LATE, **ASKED), "Confirm"),
    ("late, and taken back", facts(NEW, "Accepted", "Gone", **LATE), "Bounce"),
    ("late, but it has started", facts(NEW, "Accepted", "Present", has_started=True, **LATE), "Report"),
    ("late, started while it was taken back", facts(NEW, "Accepted", "Gone", has_started=True, **LATE, **ASKED), "Lose"),
    ("not late yet", facts(NEW, "Accepted", "Present", waited=59.0, pending_seconds=60.0), "Report"),
    ("no limit", facts(NEW, "Accepted", "Present", waited=1e9), "Report"),
    # activeDeadlineSeconds.
    ("its time is over", facts(RUNNING, "Accepted", "Present", expires=-1.0), "Delete"),
    ("its time is over, asked", facts(RUNNING, "Accepted", "Present", expires=-1.0, **ASKED), "Confirm"),
    ("its time is over, gone", facts(RUNNING, "Accepted", "Gone", expires=-1.0), "Expire"),
    ("its time is over, and the backend is down", facts(RUNNING, "Accepted", "Present", expires=-1.0, **DOWN), "Wait"),
    ("it has time", facts(RUNNING, "Accepted", "Present", expires=1.0), "Report"),
    # Ended.
    ("a finished pod is kept", facts(ENDED, "Accepted", "Present", has_ended_there=True), "Nothing"),
    ("a finished pod that the backend has dropped", facts(ENDED, "Accepted", "Gone"), "Nothing"),
    ("a finished pod after a restart", facts(ENDED, "Accepted"), "Nothing"),
    ("failed by somebody else while it runs", facts(ENDED, "Accepted", "Present"), "Delete"),
    ("failed by somebody else, asked", facts(ENDED, "Accepted", "Present", **ASKED), "Confirm"),
    ("failed, never sent", facts(ENDED), "Nothing"),
    ("failed just now, by us", facts(NEW, is_over=True, **LATE), "Nothing"),
    # Deleted.
    ("deleted, never sent", facts(DELETED), "Forget"),
    ("deleted, never sent, and the backend is down", facts(DELETED, **DOWN), "Forget"),
    ("deleted while it is sent", facts(DELETED, "Sending", is_creating=True), "Wait"),
    ("deleted, perhaps sent", facts(DELETED, "Sending"), "Delete"),
    ("deleted, sent, and not known there yet", facts(DELETED, "Sending", "Gone"), "Delete"),
    ("deleted, sent, not known there, and asked to end", facts(DELETED, "Sending", "Gone", **ASKED), "Forget"),
    ("deleted", facts(DELETED, "Accepted", "Present"), "Delete"),
    ("deleted, asked", facts(DELETED, "Accepted", "Present", **ASKED), "Confirm"),
    ("deleted, asked, and it has ended there", facts(DELETED, "Accepted", "Present", has_ended_there=True, **ASKED), "Forget"),
    ("deleted, gone", facts(DELETED, "Accepted", "Gone"), "Forget"),
    ("deleted, and the backend is down", facts(DELETED, "Accepted", "Present", **DOWN), "Wait"),
    ("deleted, down for too long", facts(DELETED, "Accepted", overdue=FORGET_SECONDS + 1, **DOWN), "ForceForget"),
    ("deleted, never confirmed", facts(DELETED, "Accepted", overdue=FORGET_SECONDS + 1, **ASKED), "ForceForget"),
    ("deleted and finished", facts(pod("Failed", deleting=True), "Accepted"), "Delete"),
    ("a DaemonSet's pod is deleted", facts(DELETED, is_declined=True), "Forget"),
    # Gone from the host cluster.
    ("gone, never sent", facts(None), "Drop"),
    ("gone by force", facts(None, "Accepted", "Present"), "Delete"),
    ("gone by force while it is sent", facts(None, "Sending", is_creating=True), "Wait"),
    ("gone by force, asked", facts(None, "Accepted", "Present", **ASKED), "Confirm"),
    ("gone by force, the backend is down", facts(None, "Accepted", "Present", **DOWN), "Wait"),
    ("gone on both sides", facts(None, "Accepted", "Gone"), "Drop"),
    ("gone by force, and not confirmed in time", facts(None, "Accepted", overdue=FORGET_SECONDS + 1), "Name"),
    ("gone, not confirmed in time, the backend is down", facts(None, "Accepted", overdue=FORGET_SECONDS + 1, **DOWN), "Name"),
    ("gone, not confirmed, and named", facts(None, "Accepted", overdue=FORGET_SECONDS + 1, is_named=True), "Delete"),
    ("gone by force, and never confirmed", facts(None, "Accepted", overdue=ORPHAN_SECONDS + 1), "Abandon"),
    ("gone long ago on both sides", facts(None, "Accepted", "Gone", overdue=ORPHAN_SECONDS + 1), "Drop"),
]


@pytest.mark.parametrize(("known", "action"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_action(known: Facts, action: Action) -> None:
    assert decide(known) == action


@pytest.mark.parametrize("mark", ["", "Sending", "Accepted"])
@pytest.mark.parametrize("there", ["Unknown", "Present", "Gone"])
@pytest.mark.parametrize("flags", range(16))
def test_a_pod_that_has_started_is_never_taken_back(mark: Any, there: Any, flags: int) -> None:
    names = ("is_answering", "was_asked", "is_refused", "has_ended_there")
    others = {name: bool(flags >> index & 1) for index, name in enumerate(names)}
    assert decide(facts(RUNNING, mark, there, has_started=True, **LATE, **others)) not in ("Withdraw", "Bounce")


@pytest.mark.parametrize("host", [NEW, RUNNING, DELETED, ENDED, None])
@pytest.mark.parametrize("mark", ["Sending", "Accepted"])
def test_what_the_backend_may_have_is_not_failed_while_it_is_silent(host: Object | None, mark: Any) -> None:
    known = facts(host, mark, missing=1e9, expires=-1.0, has_started=True, **DOWN)
    assert decide(known) in ("Wait", "Nothing")


@pytest.mark.parametrize(
    ("known", "due"),
    [
        (facts(NEW), None),
        (facts(NEW, "Accepted", waited=20.0, pending_seconds=60.0), 40),
        (facts(RUNNING, "Accepted", has_started=True, waited=20.0, pending_seconds=60.0), None),
        (facts(RUNNING, "Accepted", expires=7.0, missing=LOST_SECONDS - 5), 5),
        (facts(RUNNING, "Accepted", expires=-1.0), None),
        (facts(ENDED, "Accepted", expires=7.0), None),
        (facts(DELETED, "Accepted", overdue=-30.0, expires=7.0), FORGET_SECONDS + 30),
        (facts(None, "Accepted", overdue=10.0), FORGET_SECONDS - 10),
        (facts(None, "Accepted", overdue=10.0, is_named=True), ORPHAN_SECONDS - 10),
        (facts(DELETED, "Accepted", overdue=-30.0, asks_again=60.0, **ASKED), 60),
        (facts(None, "Accepted", "Gone", overdue=10.0, asks_again=60.0, **ASKED), ORPHAN_SECONDS - 10),
    ],
)
def test_when_time_changes_the_decision(known: Facts, due: float | None) -> None:
    assert find_due(known) == due
