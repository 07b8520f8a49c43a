"""`nestor operator | syncer | runner | reader`: the entry points of the one image.

Each process imports only what it runs: start-up time is part of a job's time to its first page.
"""

from __future__ import annotations

import sys

USAGE = """usage: nestor COMMAND

  operator   reconcile NestedAppJobs and NestedClusters of the host cluster
  syncer     carry one nested cluster's pods, services and configuration into its host namespace
  runner     install an application in a nested cluster by its templates
  reader     print the AppDef of an app image
  version    print the version
"""


def main() -> None:
    """Run one of the image's processes; exits with its code."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    sys.exit(_dispatch(command, sys.argv[2:]))


def _dispatch(command: str, arguments: list[str]) -> int:
    if command == "operator":
        from nestor.operator.main import main as run_operator  # noqa: PLC0415

        return run_operator(arguments)
    if command == "syncer":
        from nestor.syncer.main import main as run_syncer  # noqa: PLC0415

        return run_syncer(arguments)
    if command == "runner":
        from nestor.runner.main import main as run_runner  # noqa: PLC0415

        return run_runner(arguments)
    if command == "reader":
        from nestor.reader.main import main as run_reader  # noqa: PLC0415

        return run_reader(arguments)
    if command == "version":
        from nestor import __version__  # noqa: PLC0415

        sys.stdout.write(__version__ + "\n")
        return 0
    sys.stderr.write(USAGE)
    return 0 if command in ("-h", "--help", "help") else 2


if __name__ == "__main__":
    main()
