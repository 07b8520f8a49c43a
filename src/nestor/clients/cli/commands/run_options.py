"""The options of `nestor run`: what to run, and how to follow it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nestor.clients.cli import completion

_PANEL = "What to run"

App = Annotated[
    str | None,
    typer.Argument(
        metavar="APP|IMAGE",
        help="An application from the catalog (see `nestor apps`), or an app image: anything with '/' or ':'.",
        autocompletion=completion.complete_app,
        show_default=False,
    ),
]
File = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        help="An AppDef (JSON) to run with IMAGE or --templates, or a NestedAppJob (YAML or JSON); `-` reads standard input.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Templates = Annotated[
    str | None,
    typer.Option(
        "--templates",
        metavar="CONFIGMAP",
        help="ConfigMap that holds the AppDef's templates, instead of an image.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="Name of the job. Default: the application's name with a random suffix.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Command = Annotated[
    str | None, typer.Option("--command", help="The AppDef command to run.", show_default=False, rich_help_panel=_PANEL)
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the command. Can be repeated.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
ParametersFrom = Annotated[
    str | None,
    typer.Option(
        "--parameters-from",
        metavar="SECRET",
        help="Secret in the job's namespace whose keys are further parameters, such as passwords.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
ClassName = Annotated[
    str | None,
    typer.Option(
        "--class",
        help="NestedClass of the job. Default: the cluster's default class.",
        autocompletion=completion.complete_class,
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        help="Machine that the job's pods run on, one of its class's. Default: the class's default machine.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Version = Annotated[
    str | None,
    typer.Option(
        "--version",
        help="Kubernetes version of the nested cluster, for example `v1.36`.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Host = Annotated[
    str | None, typer.Option("--host", help="Host name of the job's URL.", show_default=False, rich_help_panel=_PANEL)
]
AllTargets = Annotated[
    bool, typer.Option("--all-targets", help="Expose all targets, not only the first one.", rich_help_panel=_PANEL)
]
Detach = Annotated[
    bool,
    typer.Option(
        "--detach/--follow",
        "-d",
        help="Return immediately (also: --no-follow), or follow the job until it is ready, or until it ends if it has a "
        "success policy.",
    ),
]
NoFollow = Annotated[bool, typer.Option("--no-follow", hidden=True)]
Remove = Annotated[bool, typer.Option("--rm", help="Follow the job until it ends or you press Ctrl-C, then delete it.")]
