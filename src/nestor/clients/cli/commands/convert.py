"""`nestor convert`: an AppDef becomes a NestedAppJob or a NestedApp, the AppDef itself untouched."""

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nestor.clients.cli import console, manifests, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.options import Document
from nestor.clients.cli.output import dump_yaml

_FILE = re.compile(r'"path": "(?!/|https?://)')


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
    app = made["spec"].get("app") or made["spec"]
    if not app.keys() & {"image", "templatesFrom"} and _FILE.search(json.dumps(app["appDef"])):
        result.warnings.append("its steps refer to files, but no image or ConfigMap holds them: specify --image or --templates")
    for warning in result.warnings:
        console.tell(warning, mark="warn")
    output.write(text)
    return Code.OK


def build(appdef: dict[str, Any], kind: KindOption, wishes: Wishes) -> dict[str, Any]:
    name = manifests.base_name(str(appdef.get("name") or "app"))
    if kind is KindOption.APP:
        return manifests.build_catalog_entry(wishes, appdef, name)
    return manifests.build_job(wishes, appdef=appdef, name=name)
