"""Runs the Ingress controller: `python -m devcluster.cluster.ingress --kubeconfig FILE --socket SOCKET`."""

import argparse
import asyncio
import logging
from pathlib import Path

from devcluster.cluster.ingress.controller import Controller
from nestor.kube import Api


async def _run(kubeconfig: str, socket: Path) -> None:
    async with await Api.connect(kubeconfig, manager="devcluster-ingress") as api:
        await Controller(api, socket).run()


def main() -> None:
    """Work until ended."""
    parser = argparse.ArgumentParser(prog="devcluster.cluster.ingress")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--socket", required=True, type=Path)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(_run(arguments.kubeconfig, arguments.socket))


if __name__ == "__main__":
    main()
