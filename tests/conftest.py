"""For all kinds of tests: what a run by several workers relies on, and what a test was doing that took too long."""

import asyncio
import traceback
from collections.abc import Generator
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

from nestor.__main__ import collect_rarely
from tests.suite import groups

collect_rarely()  # as Nestor's own processes; a fifth of the time of the unit tests

# How long an example takes says how busy the machine is; and the fixtures of the tests with examples hold no state.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("untimed")


_LONGEST_NAME = 80
_LONGEST_STATE = 4000


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name tests with long texts by their beginning, so that reports stay readable. pytest numbers those that are the same."""
    text = val.decode("ascii", "replace") if isinstance(val, bytes) else val
    if not isinstance(text, str) or len(text) <= _LONGEST_NAME:
        return None
    return f"{text[:_LONGEST_NAME]}...{len(text)}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that SINCE or GROUP choose."""
    wanted = {groups.ROOT / file for file in groups.list_chosen()}
    for item in items:
        if item.path in wanted:
            item.add_marker(pytest.mark.wanted)


def pytest_collection_finish(session: pytest.Session) -> None:
    """End a run whose tests are not kept together: each worker would make the clusters that one is to make for all of a group."""
    if not session.config.getoption("loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(f"pytest-xdist does not see the group of {item.nodeid}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show where coroutines were when the time limit interrupted them: the stack alone ends in the event loop."""
    report = yield
    if call.excinfo is not None and str(call.excinfo.value).endswith("from pytest-timeout."):
        report.sections.append(("Unfinished tasks", _describe_tasks(call.excinfo)))
    return report


def _describe_tasks(error: pytest.ExceptionInfo[BaseException]) -> str:
    owners = [entry.frame.f_locals.get("self") for entry in error.traceback]
    loops = {owner for owner in owners if isinstance(owner, asyncio.AbstractEventLoop)}
    tasks = sorted((task for loop in loops for task in asyncio.all_tasks(loop)), key=asyncio.Task.get_name)
    return "\n".join(f"{task.get_name()}\n{_describe(_find_frames(task))}" for task in tasks)


def _describe(frames: list[tuple[FrameType, int]]) -> str:
    """The stack, and what a test that waits has seen last: it is in a variable of that name."""
    seen = [repr(frame.f_locals["last_seen"])[:_LONGEST_STATE] for frame, _ in frames if "last_seen" in frame.f_locals]
    return "".join([*traceback.StackSummary.extract(iter(frames)).format(), *(f"  last seen: {item}\n" for item in seen)])


def _find_frames(task: asyncio.Task[object]) -> list[tuple[FrameType, int]]:
    """The coroutines that wait for each other; what asyncio itself prints is the first one alone."""
    frames: list[tuple[FrameType, int]] = []
    waiting: object = task.get_coro()
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        if frame is not None:
            frames.append((frame, frame.f_lineno))
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
    return frames
