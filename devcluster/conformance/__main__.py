"""`python -m devcluster.conformance build|run|publish`: Kubernetes' conformance tests, and those of NetworkPolicies.

`run` runs those of one set and column that have not ended before, and writes the docs; `publish` only writes the docs, of all.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from itertools import chain, product

from devcluster.build import BuildError, cache, conformance
from devcluster.conformance import results, sets, store, suite, tables, target
from devcluster.conformance.results import Verdict
from devcluster.demo.tools import DemoError
from devcluster.progress import Console, Progress


def build_parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.conformance", description=__doc__)
    parser.add_argument("action", choices=["build", "run", "publish"])
    parser.add_argument("--mode", default="shared", help="host or shared")
    parser.add_argument("--class-name", default="baseline", help="baseline or privileged; only for shared")
    parser.add_argument("--tests", default=sets.CONFORMANCE, help=" or ".join(sets.SETS))
    parser.add_argument("--focus", default="", help="a regular expression that the tests' names match")
    parser.add_argument("--again", default="", help="repeat what has ended: failed or all")
    parser.add_argument("--processes", type=int, default=6, help="how many tests run at a time")
    parser.add_argument("--minutes", type=float, default=0, help="end after so long; the next run goes on from there")
    return parser


def main() -> int:
    """Do what is asked for; 0 if everything is as the list of known failures says."""
    chosen = build_parser().parse_args()
    progress = Console()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        conformance.ensure_images(cache.default(), progress)
        return 0 if chosen.action == "build" else _run(chosen, progress)
    except (BuildError, DemoError, suite.SuiteError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(chosen: argparse.Namespace, progress: Progress) -> int:
    at = cache.default()
    column = results.column(chosen.mode, chosen.class_name)
    runner = suite.Suite(at.bin, at.conformance / "runs" / column, chosen.processes, chosen.minutes)
    names, kubernetes = runner.names(), runner.version()
    record = store.read_record(kubernetes, chain.from_iterable(names.values()))
    stores = {key: store.open_store(at, kubernetes, *key) for key in product(sets.SETS, results.COLUMNS)}
    if chosen.action == "run":
        wanted, key = sets.choose(names, chosen.tests, chosen.focus), (chosen.tests, column)
        stores = {key: stores[key]}
        stores[key].begin(*tables.part(record, *key))
        if chosen.again == "all" and wanted == names[chosen.tests]:
            stores[key].clear()
        _measure(chosen, runner, wanted, stores[key], progress)
    store.publish(record, stores)
    known = store.read_known()
    judged = [_tell(results.judge(kept.read().values(), known.get(name, {})), name) for (_, name), kept in stores.items()]
    return 0 if all(judged) else 1


def _measure(
    chosen: argparse.Namespace, runner: suite.Suite, wanted: Sequence[str], kept: store.Store, progress: Progress
) -> None:
    left = results.choose(wanted, kept.read(), chosen.again)
    progress.note(f"{len(wanted) - len(left)} of {len(wanted)} tests have ended before, {len(left)} are left.")
    if not left:
        return
    kubeconfig = target.prepare(chosen.mode, chosen.class_name, progress)
    began = time.monotonic()
    with progress.stage("Run Kubernetes' tests") as stage:
        counting = suite.Counting(stage, len(left))

        def on_result(result: results.Result) -> None:
            counting.add(result)
            kept.add([result])

        found = runner.run(left, kubeconfig, on_result)
    kept.add(found)
    kept.add_run(len(found), time.monotonic() - began, chosen.processes, os.getloadavg()[1])


def _tell(verdict: Verdict, column: str) -> bool:
    for result in verdict.unlisted:
        print(f"{column}: {result.state} and not listed: {result.name}: {result.message}")
    for result in verdict.mended:
        print(f"{column}: passed, so take it off {store.KNOWN.name}: {result.name}")
    return verdict.is_good


if __name__ == "__main__":
    sys.exit(main())
