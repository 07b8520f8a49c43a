"""`nestor`: the entry points of the one image, and the user's command line.

Each process imports only what it runs: start-up time is part of a job's time to its first page. The image does not even have
the command line's libraries.
"""

from __future__ import annotations

import gc
import sys

PROCESSES = ("operator", "syncer", "vnode", "runner", "reader", "probe")
"""What Nestor's own pods run; users have no use for these."""
NEW_OBJECTS = 10_000
"""How many new objects the garbage collector waits for. It looks at all of a large JSON document again and again while that is
parsed: with Python's 700, half a million empty lists take ten times as long, and meanwhile nothing else runs.
"""


def main() -> None:
    """Run one of the image's processes, or a command of the user's; exits with its code."""
    collect_rarely()
    arguments = sys.argv[1:]
    sys.exit(_run_process(arguments[0], arguments[1:]) if arguments and arguments[0] in PROCESSES else _run_command(arguments))


def collect_rarely() -> None:
    """Have the garbage collector wait for `NEW_OBJECTS` in this process."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])


def complete_kubectl() -> None:
    """What kubectl calls for the completion of `kubectl nestor …`: prints candidates, and a directive."""
    from nestor.cli.main import complete_kubectl as complete  # noqa: PLC0415

    sys.exit(complete(sys.argv[1:]))


def _run_process(name: str, arguments: list[str]) -> int:
    if name == "operator":
        from nestor.operator.main import main as run_operator  # noqa: PLC0415

        return run_operator(arguments)
    if name == "syncer":
        from nestor.syncer.main import main as run_syncer  # noqa: PLC0415

        return run_syncer(arguments)
    if name == "vnode":
        from nestor.vnode.main import main as run_vnode  # noqa: PLC0415

        return run_vnode(arguments)
    if name == "reader":
        from nestor.reader.main import main as run_reader  # noqa: PLC0415

        return run_reader(arguments)
    if name == "probe":
        from nestor.probe.main import main as run_probe  # noqa: PLC0415

        return run_probe(arguments)
    from nestor.runner.main import main as run_runner  # noqa: PLC0415

    return run_runner(arguments)


def _run_command(arguments: list[str]) -> int:
    if arguments == ["version"]:
        from nestor import __version__  # noqa: PLC0415

        sys.stdout.write(__version__ + "\n")
        return 0
    try:
        from nestor.cli.main import main as run_cli  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "nestor":
            raise
        sys.stderr.write(
            f"nestor: the command line needs the Python package '{error.name}'; install it with: pip install 'nestor[cli]'\n"
            f"Available without it: nestor {' | '.join(PROCESSES)} | version\n"
        )
        return 2
    return run_cli(arguments)


if __name__ == "__main__":
    main()
