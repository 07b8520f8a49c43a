"""`nestor validate`: the cluster's verdict, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from nestor.clients.cli import console, options, session
from nestor.clients.cli.exits import Code, Failure

if TYPE_CHECKING:
    from nestor.clients.cli.offline import check
    from nestor.clients.cli.offline.admission import Known
    from nestor.clients.cli.offline.documents import Document
    from nestor.clients.cli.offline.files import Content

Files = Annotated[
    list[Path],
    options.argument(
        metavar="FILE…",
        help="YAML or JSON, with one or more documents. A folder stands for those of its .yaml, .yml and .json files that hold "
        "Nestor's resources or an AppDef; templates, patches and documents that are no resources are left out there, with the "
        "reason. '-' reads standard input.",
    ),
]
ClassOption = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="NAME|FILE",
        help="The NestedClass of jobs that name none: the name of one in the files, or another file that holds it, such as from "
        "'kubectl get nclass NAME -o yaml'.",
        show_default="the one annotated as the default, else 'default'",
    ),
]


def validate(
    files: Files,
    class_: ClassOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only problems.")] = False,
) -> None:
    """Check Nestor's resources and AppDefs offline, by the same rules as the cluster.

    Jobs whose NestedClass is known are held to it. Reports the file, line and field of every fault, and what is allowed. Exits
    with code 1 if anything is wrong.
    """
    raise typer.Exit(session.run(lambda: _validate(files, class_, quiet=quiet)))


def _validate(paths: list[Path], class_: str | None, *, quiet: bool) -> int:
    # Only here: the models and plans that it checks with take longer to import than other commands run.
    from nestor.clients.cli.offline import check, files  # noqa: PLC0415

    is_good = True
    named = set(paths)
    found = [files.read(path, is_found=path not in named) for path in files.expand(paths)]
    if not any(content.documents or content.fault or content.skipped for content in found):
        console.err().print(Text("Nothing to check: there is no resource of Nestor's and no AppDef."))
    known = _read_classes(class_, [document.content for content in found for document in content.documents])
    for content in found:
        is_good = tell_file(content, quiet=quiet) and is_good
        for document in content.documents:
            for result in check.check(document, known, is_found=content.is_found):
                is_good = tell(content.name, document, result, quiet=quiet) and is_good
    return Code.OK if is_good else Code.FAILED


def _read_classes(class_: str | None, contents: list[Any]) -> Known:
    """The classes in the files and in that of the option, and which is the default. Raises `Failure`."""
    from nestor.clients.cli.offline import files  # noqa: PLC0415 - as above
    from nestor.clients.cli.offline.admission import read_known  # noqa: PLC0415

    if class_ is None:
        return read_known(contents)
    file = Path(class_)
    if file.suffix not in files.SUFFIXES and not file.is_file():
        if class_ not in (known := read_known(contents, class_)).classes:
            there_are = ", ".join(f"'{name}'" for name in known.classes) or "none"
            raise Failure(f"--class: no valid NestedClass named '{class_}' in the files; there: {there_are}", Code.USAGE)
        return known
    read = files.read(file)
    if read.fault:
        raise read.fault
    own = read_known(document.content for document in read.documents)
    default = own.default if own.default in own.classes else next(iter(own.classes), "")
    if not default or (len(own.classes) > 1 and own.default != default):
        what = "several NestedClasses, none of which is the default" if default else "no valid NestedClass"
        raise Failure(f"--class: {file} holds {what}", Code.USAGE)
    return read_known([*contents, *(document.content for document in read.documents)], default)


def tell_file(content: Content, *, quiet: bool) -> bool:
    """Print why a file is not checked, if so; returns whether that is good."""
    target = console.out()
    marks = console.symbols(target)
    if content.fault:
        target.print(Text.assemble((f"{marks.bad} ", "bad"), console.clean(content.fault.message)), soft_wrap=True)
    elif content.skipped and not quiet:
        target.print(Text.assemble((f"{marks.waiting} ", "dim"), content.name, *_note(content.skipped)), soft_wrap=True)
    return not content.fault


def _note(reason: str) -> list[tuple[str, str]]:
    return [(f"  not checked: {console.clean(reason)}", "dim")]


def tell(file: str, document: Document, result: check.Result, *, quiet: bool) -> bool:
    """Print one verdict; returns whether it is good."""
    target = console.out()
    marks = console.symbols(target)
    where = f"{file}:{document.line}: {console.clean(result.title)}"
    if result.faults:
        target.print(Text.assemble((f"{marks.bad} ", "bad"), where), soft_wrap=True)
        for fault in result.faults:
            target.print(Text(f"    {console.clean(str(fault))}"), soft_wrap=True)
    elif not quiet:
        mark, style = (marks.waiting, "dim") if result.skipped else (marks.good, "good")
        note = _note(result.skipped) if result.skipped else []
        target.print(Text.assemble((f"{mark} ", style), where, *note), soft_wrap=True)
    if not quiet:
        for warning in result.warnings:
            target.print(Text.assemble("    ", ("warning: ", "warn"), console.clean(warning)), soft_wrap=True)
    return not result.faults
