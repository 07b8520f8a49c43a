"""`nestor convert`: an AppDef becomes a NestedAppJob or a NestedApp, the AppDef itself untouched."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nestor.clients.cli import console, manifests, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.options import Document
from nestor.clients.cli.output import dump_yaml

SIZE_LIMIT = 1_000_000
"""An API server stores objects of at most 1.5 MiB, and clients that apply them keep a copy inside."""


class KindOption(StrEnum):
    JOB = "job"
    APP = "app"


def convert(
    file: Annotated[Path, options.argument(metavar="APPDEF.JSON", help="An AppDef; '-' reads standard input.")],
    kind: Annotated[
        KindOption, typer.Option("--kind", help="A NestedAppJob to run, or a NestedApp for the catalog.")
    ] = KindOption.JOB,
    image: Annotated[str | None, options.option("--image", help="App image that contains the folder /templates.")] = None,
    templates: Annotated[
        str | None,
        options.option(
            "--templates", metavar="CONFIGMAP", help="ConfigMap that holds the templates, instead of an image (jobs only)."
        ),
    ] = None,
    name: Annotated[
        str | None, options.option("--name", help="Name of the object. Default: derived from the AppDef's name.")
    ] = None,
    command: Annotated[str | None, options.option("--command", help="The job's `command`.")] = None,
    form: options.DocumentOption = Document.YAML,
) -> None:
    """Print a NestedAppJob or NestedApp that is made from an AppDef and ready to apply. Needs no cluster.

    The AppDef is copied verbatim: all keys, known or unknown, keep their spelling and order.
    """
    wishes = Wishes(name=name, image=image, config_map=templates, command=command)
    raise typer.Exit(session.run(lambda: _convert(file, kind, wishes, form)))


def _convert(file: Path, kind: KindOption, wishes: Wishes, form: Document) -> int:
    from nestor.clients.cli.offline import check, documents  # noqa: PLC0415 - as in `validate`

    appdef = documents.read_one(file)
    if "commands" not in appdef:
        raise Failure(f"{file}: not an AppDef: expected a JSON object with `commands`")
    if wishes.image and wishes.config_map:
        raise Failure("--image and --templates cannot be combined", Code.USAGE)
    if kind is KindOption.APP and (wishes.command or wishes.config_map):
        raise Failure("--command and --templates apply to jobs only: omit them with --kind app", Code.USAGE)
    made = build(appdef, kind, wishes)
    result = check.check_one(made)
    if result.faults:
        raise Failure(f"{file}: the cluster would reject it:\n" + "\n".join(f"  {fault}" for fault in result.faults))
    text = output.to_json(made) if form is Document.JSON else dump_yaml(made)
    for warning in [*result.warnings, *advise(made, text)]:
        console.tell(warning, mark="warn")
    output.write(text)
    return Code.OK


def build(appdef: dict[str, Any], kind: KindOption, wishes: Wishes) -> dict[str, Any]:
    name = manifests.base_name(str(appdef.get("name") or "app"))
    if kind is KindOption.APP:
        return manifests.build_catalog_entry(wishes, appdef, name)
    return manifests.build_job(wishes, appdef=appdef, name=name)


def advise(made: dict[str, Any], text: str) -> list[str]:
    """What the cluster accepts although it will not work. Pure."""
    found = []
    app = made["spec"].get("app") or made["spec"]
    if "image" not in app and "templatesFrom" not in app and needs_files(app["appDef"]):
        found.append("its steps refer to files, but no image or ConfigMap holds them: specify --image or --templates")
    if len(text) > SIZE_LIMIT:
        found.append(f"it is {len(text) // 1024} KiB, which may be too large for an API server: remove the icon's `image.data`")
    return found


def needs_files(appdef: dict[str, Any]) -> bool:
    for command in appdef["commands"].values():
        nested = command.get("nested_kubernetes") or command.get("nestedkubernetes") if isinstance(command, dict) else None
        steps = nested.get("templates") if isinstance(nested, dict) else None
        for step in steps if isinstance(steps, list) else ():
            if isinstance(step, dict) and step.get("path") and step.get("format") != "url":
                return True
    return False
