"""Options and arguments that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from nestor.clients.cli import completion
from nestor.clients.cli.session import Place


class Output(StrEnum):
    """Formats of `-o`."""

    JSON = "json"
    YAML = "yaml"
    WIDE = "wide"
    NAME = "name"


class Document(StrEnum):
    """Formats of one object."""

    YAML = "yaml"
    JSON = "json"


CLUSTER_PANEL = "Which cluster"

Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        help="Namespace of the job. Default: the namespace of the kubeconfig context.",
        autocompletion=completion.complete_namespace,
        rich_help_panel=CLUSTER_PANEL,
        show_default=False,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        help="Kubeconfig context to use. Default: the current one.",
        autocompletion=completion.complete_context,
        rich_help_panel=CLUSTER_PANEL,
        show_default=False,
    ),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig",
        help="Kubeconfig of the host cluster. Default: $KUBECONFIG, or ~/.kube/config.",
        rich_help_panel=CLUSTER_PANEL,
        show_default=False,
    ),
]
JobName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the job.", autocompletion=completion.complete_job, show_default=False)
]
JobNames = Annotated[
    list[str],
    typer.Argument(metavar="NAME…", help="Names of the jobs.", autocompletion=completion.complete_job, show_default=False),
]
OutputOption = Annotated[Output | None, typer.Option("--output", "-o", help="Output format.", show_default=False)]
DocumentOption = Annotated[Document, typer.Option("--output", "-o", help="Output format.")]
Timeout = Annotated[
    str | None,
    typer.Option(
        "--timeout",
        metavar="TIME",
        show_default=False,
        help="Stop waiting after this time, for example `90s`, `10m` or `1h30m` (exit code 5). The job keeps running.",
    ),
]


def place(namespace: str | None, context: str | None, kubeconfig: str | None) -> Place:
    """The options of `CLUSTER_PANEL` together."""
    return Place(namespace, context, kubeconfig)
