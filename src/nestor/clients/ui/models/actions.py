"""What can be done with a job now. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api.objects import Object, is_terminating, spec_of
from nestor.clients.cli.view.facts import is_over


@dataclass(frozen=True)
class Actions:
    """What can be done with a job now."""

    suspend: bool
    resume: bool
    rerun: bool
    rerun_empties: bool
    """Whether running it again deletes its data."""
    extend: bool
    delete: bool


def list_actions(job: Object) -> Actions:
    """By its state alone; whether the user may is the API server's to say."""
    going, over, rests = not is_terminating(job), is_over(job), bool(spec_of(job).get("suspend"))
    return Actions(
        suspend=going and not over and not rests,
        resume=going and not over and rests,
        rerun=going,
        rerun_empties=over,
        extend=going,
        delete=going,
    )
