"""`nestor`: the entry points of the one image, and the user's command line.

Each process imports only what it runs: start-up time is part of a job's time to its first page. The image does not even have
the command line's libraries.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from nestor.api.contracts.syncer import SEED_VARIABLE

PROCESSES = {
    "operator": "nestor.operator.main",
    "syncer": "nestor.syncer.main",
    "vnode": "nestor.overflow.vnode.main",
    "runner": "nestor.apps.runner.main",
    "reader": "nestor.apps.reader",
    "probe": "nestor.operator.guests.enforcement.probe",
    "portal": "nestor.clients.portal",
    "activator": "nestor.clients.activator",
}
"""What Nestor's own pods run, and where its `main` is; users have no use for these."""
NEW_OBJECTS = 10_000
"""How many new objects the garbage collector waits for. It looks at all of a large JSON document again and again while that is
parsed: with Python's 700, half a million empty lists take ten times as long, and meanwhile nothing else runs.
"""

_AUTHORITIES = "SSL_CERT_FILE"
"""What tells OpenSSL which file has the authorities that the machine trusts."""
_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
_ZONES = "PYTHONTZPATH"
_ZONE_FOLDERS = "/usr/share/zoneinfo:/usr/lib/zoneinfo:/usr/share/lib/zoneinfo:/etc/zoneinfo"
"""Python's own choice, which it looks up in a description of its whole build; Pydantic asks for it and does not use it here."""


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
    from nestor.clients.cli.main import complete_kubectl as complete  # noqa: PLC0415

    add_pages()
    sys.exit(complete(sys.argv[1:]))


def add_pages() -> None:
    """Have the command line know `ui`, which is made of its parts and not one of them."""
    from nestor.clients.cli.main import JOBS, app  # noqa: PLC0415
    from nestor.clients.ui.command import ui  # noqa: PLC0415

    app.command("ui", rich_help_panel=JOBS)(ui)


@contextmanager
def starting() -> Iterator[None]:
    """For the imports of a process: without garbage collections, of which none would find anything, and without the 150
    authorities that aiohttp reads for a default which nobody here uses. Every connection says itself whom it trusts; one that
    forgets to trusts nobody. Nor does Pydantic ever look for plugins, for which it would read what each package says of itself.
    """
    os.environ.setdefault(_NO_PLUGINS, "__all__")
    found = {name: os.environ.get(name) for name in (_AUTHORITIES, _ZONES)}
    os.environ[_AUTHORITIES] = os.devnull
    os.environ.setdefault(_ZONES, _ZONE_FOLDERS)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
        for name, value in found.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _run_process(name: str, arguments: list[str]) -> int:
    with starting():
        if version := os.environ.get(SEED_VARIABLE):
            _plant_seed(version)
        run = _import_process(name)
    return run(arguments)


def _plant_seed(version: str) -> None:
    """Before the syncer's imports, since K3s waits for it; without one, K3s starts all the same."""
    from nestor.syncer.seed.plant import plant  # noqa: PLC0415

    try:
        plant(version)
    except Exception as error:
        sys.stderr.write(f"the cluster begins without a seed: {error}\n")


def _import_process(name: str) -> Callable[[list[str]], int]:
    run: Callable[[list[str]], int] = import_module(PROCESSES[name]).main
    return run


def _run_command(arguments: list[str]) -> int:
    if arguments == ["version"]:
        from nestor import __version__  # noqa: PLC0415

        sys.stdout.write(__version__ + "\n")
        return 0
    try:
        with starting():
            from nestor.clients.cli.main import main as run_cli  # noqa: PLC0415

            add_pages()
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
