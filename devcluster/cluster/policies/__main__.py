"""Runs a node's enforcer: `python -m devcluster.cluster.policies --node NAME --socket FILE --pki FOLDER`."""

import argparse
import logging
from pathlib import Path

from devcluster.cluster.policies.enforcer import Enforcer
from devcluster.cluster.policies.watch import Client


def main() -> None:
    """Work until ended."""
    parser = argparse.ArgumentParser(prog="devcluster.cluster.policies")
    parser.add_argument("--node", required=True)
    parser.add_argument("--socket", required=True, type=Path)
    parser.add_argument("--pki", required=True, type=Path)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    client = Client(given.pki / "server-ca.crt", given.pki / "policies.crt", given.pki / "policies.key")
    Enforcer(given.node, client).run(given.socket)


if __name__ == "__main__":
    main()
