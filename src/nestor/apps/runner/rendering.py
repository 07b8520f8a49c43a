"""Templates with parameters, rendered in a process of their own: what a template asks for may take for ever, or all memory."""

import json
import resource
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import nestor
from nestor.apps.runner import guard
from nestor.apps.runner.attempt import AttemptError, StepError
from nestor.apps.runner.command import run_command
from nestor.apps.steps import Plan

MEMORY_LIMIT = 256 * 2**20
SECONDS_LIMIT = 120
"""For all files of a step together, since a script's own limit is an hour."""
EXIT_REFUSED = 3


@dataclass(frozen=True)
class File:
    """`name` is how messages call it.

    `kind`: a `template`, which is text; `any` file, which is copied as it is when it is no text; `values` in JSON, of which all
    strings are templates.
    """

    source: str
    target: str
    name: str
    kind: Literal["template", "any", "values"] = "template"


async def render(plan: Plan, files: list[File], folder: Path, limit: float, limits: guard.Limits) -> None:
    """Render each file to its target, which may be the source.

    Raises `StepError` with file and line, `AttemptError` when it took too long or too much.
    """
    job = folder / "render.json"
    job.write_text(json.dumps({"files": [asdict(file) for file in files], "parameters": plan.parameters, "job": plan.facts}))
    said: list[str] = []
    environment = {"PYTHONPATH": str(Path(nestor.__file__).parents[1])}
    command = [sys.executable, "-P", "-m", "nestor.apps.runner.rendering", str(job)]
    limit = min(limit, SECONDS_LIMIT)
    outcome = await run_command(command, folder=folder, environment=environment, limit=limit, show=said.append, limits=limits)
    if outcome.exit_code == EXIT_REFUSED:
        raise StepError("\n".join(said))
    if not outcome.is_success:
        raise AttemptError(f"the templates cannot be rendered: {outcome.message}")


def main(job: str) -> int:
    """The process: render what `job` lists."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    content = json.loads(Path(job).read_text())
    try:
        for item in content["files"]:
            _render(File(**item), content["parameters"], content["job"])
    except StepError as error:
        print(error)
        return EXIT_REFUSED
    except MemoryError:
        print(f"template '{item['name']}' needs more than {MEMORY_LIMIT // 2**20} MiB of memory")
        return EXIT_REFUSED
    return 0


def _render(file: File, parameters: dict[str, Any], facts: dict[str, str]) -> None:
    try:
        text = Path(file.source).read_bytes().decode()
    except UnicodeDecodeError as error:
        if file.kind != "any":
            raise StepError(f"template '{file.name}' is not UTF-8 text (byte {error.start}), so it cannot be rendered") from error
        if file.source != file.target:
            shutil.copyfile(file.source, file.target)
        return
    Path(file.target).write_bytes(_apply(text, file, parameters, facts).encode())


def _apply(text: str, file: File, parameters: dict[str, Any], facts: dict[str, str]) -> str:
    from nestor.apps.steps import render as templating  # noqa: PLC0415 - the runner itself does not need Jinja2

    try:
        if file.kind == "values":
            values = templating.render_values(json.loads(text), name=file.name, parameters=parameters, facts=facts)
            return json.dumps(values)
        return templating.render(text, name=file.name, parameters=parameters, facts=facts)
    except templating.RenderError as error:
        raise StepError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
