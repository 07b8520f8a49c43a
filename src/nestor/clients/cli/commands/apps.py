"""`nestor apps`: the catalog, and what one application of it takes."""

import datetime
from typing import Annotated, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import completion, console, options, output, session
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place
from nestor.clients.cli.view import times
from nestor.kube import kinds

AppName = Annotated[
    str | None,
    options.argument(
        metavar="NAME",
        help="Application to show, with its description, commands and parameters.",
        autocompletion=completion.complete_app,
    ),
]


@options.acting
async def apps(place: Place, name: AppName = None, form: options.OutputOption = None) -> int:
    """List the applications in the catalog, or show one with its commands and parameters."""
    async with session.opened(place) as opened:
        if name is None:
            found = await opened.api.list(kinds.NESTED_APP)
        else:
            found = [await opened.get(kinds.NESTED_APP, name)]
    if form in (Output.JSON, Output.YAML, Output.NAME):
        output.print_objects(found, form, is_list=name is None)
    elif name is not None:
        console.show(render_app(found[0]))
    elif found:
        output.print_table(*build_rows(found, now(), wide=form is Output.WIDE))
    else:
        console.tell("the catalog is empty; create an entry with `nestor convert AppDef.json --kind app`")
    return 0


def build_rows(found: list[Object], now: datetime.datetime, *, wide: bool) -> tuple[list[str], list[list[str | Text]]]:
    head = ["NAME", "TITLE", "COMMANDS", "ACCEPTED", "AGE"] + ["IMAGE", "MESSAGE"] * wide
    rows: list[list[str | Text]] = []
    for app in found:
        status = status_of(app)
        accepted = conditions.find(status.get("conditions"), conditions.ACCEPTED) or {}
        word = str(accepted.get("status") or "Unknown")
        style = {"True": "good", "False": "bad"}.get(word, "dim")
        row: list[str | Text] = [
            app["metadata"]["name"],
            str(status.get("title") or app["spec"].get("title") or ""),
            ",".join(command["id"] for command in status.get("commands") or ()),
            Text(word, style),
            times.age(app["metadata"].get("creationTimestamp"), now),
        ]
        rows.append(row + ([str(app["spec"].get("image") or ""), str(accepted.get("message") or "")] if wide else []))
    return head, rows


def render_app(app: Object) -> Group:
    spec, status = app["spec"], status_of(app)
    definition = spec.get("appDef") or {}
    title = status.get("title") or spec.get("title") or definition.get("name") or ""
    parts: list[RenderableType] = [Text.assemble((app["metadata"]["name"], "name"), f"  {console.clean(str(title))}")]
    description = spec.get("description") or definition.get("description")
    if description:
        parts.append(Padding(Text(console.clean(str(description))), (0, 0, 0, 2)))
    accepted = conditions.find(status.get("conditions"), conditions.ACCEPTED) or {}
    if accepted.get("status") == "False" or not status.get("commands"):
        style = "bad" if accepted.get("status") == "False" else "dim"
        parts.append(Padding(Text(console.clean(accepted.get("message", "")), style), (0, 0, 0, 2)))
    for command in status.get("commands") or ():
        parts += [Text(), Text.assemble("Command ", (command["id"], "name"), f"  {console.clean(command.get('name', ''))}")]
        if command.get("description"):
            parts.append(Padding(Text(console.clean(command["description"])), (0, 0, 0, 2)))
        parameters = ((definition.get("commands") or {}).get(command["id"]) or {}).get("parameters") or {}
        if isinstance(parameters, dict) and parameters:
            parts.append(Padding(_parameters(parameters), (0, 0, 0, 2), expand=False))
    parts += [Text(), Text.assemble(("Run it:  ", "dim"), f"nestor run {app['metadata']['name']}")]
    return Group(*parts)


def _parameters(parameters: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, parameter in parameters.items():
        known = parameter if isinstance(parameter, dict) else {}
        default = f"default {known['value']}" if known.get("value") not in (None, "") else ""
        need = "required" if known.get("required") in (True, "true") else default
        table.add_row(
            console.clean(name),
            Text(str(known.get("type") or ""), "dim"),
            Text(console.clean(need), "dim"),
            console.clean(str(known.get("description") or known.get("name") or "")),
        )
    return table
