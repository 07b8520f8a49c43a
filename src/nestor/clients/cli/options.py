"""Options and arguments of the commands."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nestor.api.times import parse_duration
from nestor.clients.cli import completion, session
from nestor.clients.cli.session import Place
from nestor.kube import kinds


class Output(StrEnum):
    JSON = "json"
    YAML = "yaml"
    WIDE = "wide"
    NAME = "name"


class Document(StrEnum):
    YAML = "yaml"
    JSON = "json"


def read_seconds(text: str) -> float | None:
    """A time as users write it."""
    try:
        return parse_duration(text) if text else None
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


option = functools.partial(typer.Option, show_default=False)
"""One whose default needs no word of its own."""
argument = functools.partial(typer.Argument, show_default=False)
optional_job = functools.partial(argument, metavar="NAME", autocompletion=completion.complete_job)

Namespace = Annotated[
    str | None,
    option(
        "--namespace",
        "-n",
        help="Namespace of the job. Default: the namespace of the kubeconfig context.",
        autocompletion=completion.complete_names(kinds.NAMESPACE),
    ),
]
Context = Annotated[
    str | None,
    option("--context", help="Kubeconfig context to use. Default: the current one.", autocompletion=completion.complete_context),
]
Kubeconfig = Annotated[
    str | None, option("--kubeconfig", help="Kubeconfig of the host cluster. Default: $KUBECONFIG, or ~/.kube/config.")
]
JobName = Annotated[str, argument(metavar="NAME", help="Name of the job.", autocompletion=completion.complete_job)]
JobNames = Annotated[list[str], argument(metavar="NAME…", help="Names of the jobs.", autocompletion=completion.complete_job)]
OutputOption = Annotated[Output | None, option("--output", "-o", help="Output format.")]
DocumentOption = Annotated[Document, typer.Option("--output", "-o", help="Output format.")]
Timeout = Annotated[
    float | None,
    option(
        "--timeout",
        metavar="TIME",
        parser=read_seconds,
        help="Stop waiting after this time, for example `90s`, `10m` or `1h30m` (exit code 5). The job keeps running.",
    ),
]

App = Annotated[
    str | None,
    argument(
        metavar="APP|IMAGE",
        help="An application from the catalog (see `nestor apps`), or an app image: anything with '/' or ':'.",
        autocompletion=completion.complete_app,
    ),
]
File = Annotated[
    Path | None,
    option(
        "--file",
        "-f",
        help="An AppDef (JSON) to run with IMAGE or --templates, or a NestedAppJob (YAML or JSON), with or without the "
        "ConfigMap of its templates; `-` reads standard input.",
    ),
]
Templates = Annotated[
    str | None,
    option("--templates", metavar="CONFIGMAP", help="ConfigMap that holds the AppDef's templates, instead of an image."),
]
Chart = Annotated[
    str | None, option("--chart", metavar="CHART", help="A Helm chart: `oci://…`, an archive's URL, or a name in --repo.")
]
Repo = Annotated[str | None, option("--repo", metavar="URL", help="The chart's repository.")]
ChartVersion = Annotated[str | None, option("--chart-version", help="The chart's version. Default: the latest.")]
Sets = Annotated[list[str] | None, option("--set", metavar="NAME=VALUE", help="A value of the chart. Can be repeated.")]
Manifest = Annotated[
    str | None, option("--manifest", metavar="FILE", help="A manifest: a file, a folder, a URL, or `-` for standard input.")
]
Kustomize = Annotated[
    str | None, option("--kustomize", metavar="DIR", help="A kustomization. The kubectl on your machine builds it.")
]
Targets = Annotated[
    list[str] | None,
    option("--target", metavar="[NAMESPACE/]SERVICE:PORT", help="A Service to expose; the first has the URL. Can be repeated."),
]
Name = Annotated[str | None, option("--name", help="Name of the job. Default: the application's name with a random suffix.")]
Command = Annotated[str | None, option("--command", help="The AppDef command to run.")]
Parameters = Annotated[
    list[str] | None, option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of the command. Can be repeated.")
]
ParametersFrom = Annotated[
    str | None,
    option(
        "--parameters-from",
        metavar="SECRET",
        help="Secret in the job's namespace whose keys are further parameters, such as passwords.",
    ),
]
ClassName = Annotated[
    str | None,
    option(
        "--class",
        help="NestedClass of the job. Default: the cluster's default class.",
        autocompletion=completion.complete_names(kinds.NESTED_CLASS),
    ),
]
Machine = Annotated[
    str | None,
    option("--machine", help="Machine that the job's pods run on, one of its class's. Default: the class's default machine."),
]
Version = Annotated[str | None, option("--version", help="Kubernetes version of the nested cluster, for example `v1.36`.")]
Host = Annotated[str | None, option("--host", help="Host name of the job's URL.")]
AllTargets = Annotated[bool, option("--all-targets", help="Expose all targets, not only the first one.")]
Detach = Annotated[
    bool,
    typer.Option(
        "--detach/--follow",
        "--no-follow",
        "-d",
        help="Return immediately, or follow the job until it is ready, or until it ends if it has a success policy.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before data is deleted.")]
Remove = Annotated[bool, typer.Option("--rm", help="Follow the job until it ends or you press Ctrl-C, then delete it.")]


def acting(function: Callable[..., Coroutine[Any, Any, int]], namespace: Any = Namespace) -> Callable[..., None]:
    """A command that acts in the user's cluster: it has the options that say which one as its last ones, and exits with what
    `function` returns, which gets them as its first argument. `namespace`: that option, if it means another one than the job's.
    """
    signature = inspect.signature(function, eval_str=True)
    own = [*signature.parameters.values()][1:]
    added = {"namespace": namespace, "context": Context, "kubeconfig": Kubeconfig}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [*own, *(inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in added.items())]

    @functools.wraps(function)
    def command(*, namespace: str | None = None, context: str | None = None, kubeconfig: str | None = None, **given: Any) -> None:
        place = Place(namespace, context, kubeconfig)
        raise typer.Exit(session.run(lambda: asyncio.run(function(place, **given))))

    command.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    return command
