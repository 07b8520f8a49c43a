"""The page about the reasons of conditions, from their rows in `nestor.api.conditions`. Pure."""

from nestor.api.conditions import REASONS, TIMED, Reason
from tests.reference.words import escape

_HEAD = """# Conditions and reasons

Conditions say how far an object is, and their reasons why. Built from `src/nestor/api/conditions.py` by
`python -m tests.reference`.
[Troubleshooting](../troubleshooting.md) begins with what you see. `nestor doctor` prints the same advice.

## Conditions of a job

| condition | when it is True | event |
|---|---|---|
{conditions}
| `Succeeded` | The job has done what it was created for. False: it never will. | |
| `Stalled` | The job has failed, or a user or an admin must act. | |

## Reasons

**You**: waiting does not help. **You or an admin**: the problem rarely goes away without action. Both kinds also cause a
Warning event with the reason's name. The other reasons are stages of an ordinary object, or its end.

| reason | who must act | what to do |
|---|---|---|
{reasons}
"""
_WHO = {"user": "you", "admin": "you or an admin", "nobody": ""}


def build_page() -> str:
    """The page."""
    conditions = [f"| `{kind}` | {escape(kind.reached)} | `{kind.event}` |" for kind in TIMED]
    return _HEAD.format(
        conditions="\n".join(conditions), reasons="\n".join(_write_row(row) for row in sorted(set(REASONS), key=str.lower))
    )


def _write_row(row: Reason) -> str:
    advice = f"{row.advice[:1].upper()}{row.advice[1:]}." if row.advice else ""
    return f"| `{row}` | {_WHO[row.needs]} | {escape(advice)} |"
