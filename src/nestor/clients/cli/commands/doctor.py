"""`nestor doctor`: what is wrong with the installation, or with one job, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from rich.padding import Padding
from rich.text import Text

from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.exits import Code
from nestor.clients.cli.options import Document
from nestor.clients.cli.output import dump_yaml
from nestor.clients.cli.session import Place

if TYPE_CHECKING:
    from nestor.clients.cli.diagnosis.installation import Finding


@options.acting
async def doctor(
    place: Place,
    name: Annotated[str | None, options.optional_job(help="A job to check in addition to the installation.")] = None,
    form: Annotated[Document | None, options.option("--output", "-o", help="Output format.")] = None,
) -> int:
    """Find out what is wrong with the installation, or with a job, and what to do about it.

    Exits with code 1 if there is a problem. It changes nothing. What you have no permission to see is reported as unknown.
    """
    # Only here: it imports the models of all resources.
    from nestor.clients.cli.diagnosis import facts, installation, job  # noqa: PLC0415

    async with session.opened(place) as opened:
        groups = {"Installation": installation.judge(await facts.read_installation(opened))}
        if name is not None:
            groups[f"Job '{name}'"] = job.judge(await facts.read_job(opened, await opened.get_job(name)))
    show(groups, form)
    return Code.FAILED if any(finding.level == "bad" for group in groups.values() for finding in group) else Code.OK


def show(groups: dict[str, list[Finding]], form: Document | None) -> None:
    if form is not None:
        content: list[dict[str, Any]] = [{"about": title, **asdict(item)} for title, group in groups.items() for item in group]
        output.write(output.to_json(content) if form is Document.JSON else dump_yaml(content))
        return
    marks = console.symbols(console.out())
    for title, group in groups.items():
        console.show(Text(title, "head"))
        for finding in group:
            line = Text.assemble((f"{getattr(marks, finding.level)} ", finding.level), console.clean(finding.text))
            console.show(Padding(line, (0, 0, 0, 2)))
            if finding.advice:
                console.show(Padding(Text(f"{marks.advice} {console.clean(finding.advice)}", "dim"), (0, 0, 0, 4)))
    wrong = sum(finding.level == "bad" for group in groups.values() for finding in group)
    verdict = Text(f"{wrong} {'problem' if wrong == 1 else 'problems'} found", "bad")
    console.show(verdict if wrong else Text("no problems found", "good"))
