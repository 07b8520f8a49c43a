"""Runs the backend: `python -m devcluster.plugin --home FOLDER --containerd SOCKET …`."""

import argparse
import asyncio
import logging
from pathlib import Path

from devcluster.plugin.ctr import Ctr
from devcluster.plugin.runner import Place
from devcluster.plugin.server import Settings, serve


def main() -> None:
    """Work until ended."""
    parser = argparse.ArgumentParser(prog="devcluster.plugin", description=__doc__)
    for name, text in (
        ("home", "folder of its own files"),
        ("socket", "where it takes orders"),
        ("bin", "folder of ctr and runc"),
        ("containerd", "containerd's socket"),
        ("hosts", "folder of containerd's hosts.toml files"),
        ("networks", "folder of the pods' network namespaces"),
    ):
        parser.add_argument(f"--{name}", required=True, type=Path, help=text)
    parser.add_argument("--cgroup", required=True, help="cgroup of the pods, below the root of each hierarchy")
    parser.add_argument("--address", required=True, help="address to listen at")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    ctr = Ctr(given.bin / "ctr", given.containerd, given.hosts, given.bin / "runc")
    place = Place(ctr, given.home / "pods", given.networks, given.cgroup)
    asyncio.run(serve(Settings(given.home, given.address, given.socket, place)))


if __name__ == "__main__":
    main()
