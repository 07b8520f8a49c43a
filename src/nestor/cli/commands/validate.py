"""`nestor validate`: the cluster's verdict, without a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from nestor.api import labels
from nestor.cli import console, session
from nestor.cli.exits import Code, Failure

if TYPE_CHECKING:
    from nestor.cli.offline import check
    from nestor.cli.offline.documents import Document
    from nestor.cli.offline.known import Known

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE…",
        help="YAML or JSON, with one or more documents. A folder stands for those of its .yaml, .yml and .json files that hold "
        "Nestor's resources or an AppDef. '-' reads standard input.",
        show_default=False,
    ),
]
SUFFIXES = (".yaml", ".yml", ".json")
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
    """Check NestedAppJobs, NestedApps, NestedClasses, NestedClusters and AppDefs offline, by the same rules as the cluster.

    Jobs whose NestedClass is known are held to it. Reports the file, line and field of every fault, and what is allowed. Exits
    with code 1 if anything is wrong.
    """

    async def start() -> int:
        return _validate(files, class_, quiet=quiet)

    raise typer.Exit(session.run(start))


def _validate(files: list[Path], class_: str | None, *, quiet: bool) -> int:
    # Only here: the models and plans that it checks with take longer to import than other commands run.
    from nestor.cli.offline import check  # noqa: PLC0415

    is_good = True
    named = set(files)
    found = [(str(file), _read(file, is_named=file in named)) for file in expand(files)]
    known = _read_classes(class_, [document.content for _, read in found if isinstance(read, list) for document in read])
    for file, read in found:
        if isinstance(read, Failure):
            is_good = False
            target = console.out()
            line = Text.assemble((f"{console.symbols(target).bad} ", "bad"), console.clean(read.message))
            target.print(line, soft_wrap=True)
            continue
        for document in read:
            for result in check.check(document, known):
                is_good = tell(file, document, result, quiet=quiet) and is_good
    return Code.OK if is_good else Code.FAILED


def _read_classes(class_: str | None, contents: list[Any]) -> Known:
    """The classes in the files and in that of the option, and which is the default. Raises `Failure`."""
    from nestor.cli.offline.known import read_known  # noqa: PLC0415 - as above

    if class_ is None:
        return read_known(contents)
    file = Path(class_)
    if file.suffix not in SUFFIXES and not file.is_file():
        if class_ not in (known := read_known(contents, class_)).classes:
            there_are = ", ".join(f"'{name}'" for name in known.classes) or "none"
            raise Failure(f"--class: no valid NestedClass named '{class_}' in the files; there: {there_are}", Code.USAGE)
        return known
    read = _read(file, is_named=True)
    if isinstance(read, Failure):
        raise read
    own = read_known(document.content for document in read)
    default = own.default if own.default in own.classes else next(iter(own.classes), "")
    if not default or (len(own.classes) > 1 and own.default != default):
        what = "several NestedClasses, none of which is the default" if default else "no valid NestedClass"
        raise Failure(f"--class: {file} holds {what}", Code.USAGE)
    return read_known([*contents, *(document.content for document in read)], default)


def _read(file: Path, *, is_named: bool) -> list[Document] | Failure:
    """A file's documents; none of a file that was found in a folder and holds nothing of ours; or why it cannot be read."""
    from nestor.cli.offline import documents  # noqa: PLC0415 - as above

    try:
        text = documents.load(file)
        return list(documents.read(text, str(file))) if is_named or is_ours(text) else []
    except Failure as failure:
        return failure


def is_ours(text: str) -> bool:
    """Whether a file that was found in a folder is worth reading: charts and other people's manifests are not."""
    return f"{labels.GROUP}/" in text or "appdefversion" in text


def expand(files: Iterable[Path]) -> list[Path]:
    """Folders become their files. Raises `Failure` for what is not there."""
    found: list[Path] = []
    for file in files:
        if file.is_dir():
            found += sorted(path for path in file.rglob("*") if path.suffix in SUFFIXES and path.is_file())
        elif str(file) == "-" or file.exists():
            found.append(file)
        else:
            raise Failure(f"{file}: no such file", Code.USAGE)
    return found


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
        note = "  not a Nestor resource, not checked" if result.is_skipped else ""
        mark, style = (marks.waiting, "dim") if result.is_skipped else (marks.good, "good")
        target.print(Text.assemble((f"{mark} ", style), where, (note, "dim")), soft_wrap=True)
    if not quiet:
        for warning in result.warnings:
            target.print(Text.assemble("    ", ("warning: ", "warn"), console.clean(warning)), soft_wrap=True)
    return not result.faults
