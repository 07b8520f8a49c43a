"""The enforcer of one node: keeps the kernel's rules as the policies say."""

import logging
import subprocess
import time
from functools import partial
from pathlib import Path

from devcluster.cluster.policies import rules, ruleset, server
from devcluster.cluster.policies.ruleset import Ruleset
from devcluster.cluster.policies.server import Order
from devcluster.cluster.policies.store import Store
from devcluster.cluster.policies.watch import Client, Follower

log = logging.getLogger(__name__)

PATHS = {
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "networkpolicies": "/apis/networking.k8s.io/v1/networkpolicies",
}
POD_SECONDS = 15.0
"""How long a pod may wait for its rules before its start is tried again."""
RETRY_SECONDS = 0.1
TOGETHER_SECONDS = 0.03
"""A rollout changes several objects at once; one change of the rules for all of them."""


class Enforcer:
    """Made once per process."""

    def __init__(self, node: str, client: Client) -> None:
        self._node = node
        self._client = client
        self._store = Store()
        self._applied: Ruleset | None = None

    def run(self, socket: Path) -> None:
        """Work for ever."""
        server.serve(socket, self._obey)
        for kind, path in PATHS.items():
            Follower(self._client, path, partial(self._store.replace, kind), partial(self._store.change, kind)).start()
        while True:
            if taken := self._store.take():
                revision, world = taken
                self._apply(rules.build(world, self._node))
                self._store.done(revision)
                time.sleep(TOGETHER_SECONDS)

    def _apply(self, wanted: Ruleset) -> None:
        """Tell the kernel, what is different if it is known; again and again until it obeys."""
        while True:
            text = ruleset.write(wanted) if self._applied is None else ruleset.write_changes(self._applied, wanted)
            if not text:
                return
            result = subprocess.run(["nft", "-f", "-"], input=text, capture_output=True, text=True, check=False)
            if result.returncode == 0:
                self._applied = wanted
                return
            log.error("nft refused: %s\n%s", result.stderr.strip()[:2000], text[:4000])
            if self._applied is None:
                time.sleep(RETRY_SECONDS)
            self._applied = None

    def _obey(self, order: Order) -> None:
        """Cover a pod by its rules before it runs, also if the watches are late."""
        if order.command == "DEL":
            self._store.release(order.uid)
            return
        for kind, path in (
            ("pods", f"/api/v1/namespaces/{order.namespace}/pods/{order.name}"),
            ("namespaces", f"/api/v1/namespaces/{order.namespace}"),
        ):
            if (item := self._client.get(path)) is not None:
                self._store.change(kind, "MODIFIED", item)
        found = self._client.get(f"/apis/networking.k8s.io/v1/namespaces/{order.namespace}/networkpolicies") or {}
        for item in found.get("items", []):
            self._store.change("networkpolicies", "MODIFIED", item)
        revision = self._store.claim(order.uid, order.addresses)
        if not self._store.wait_applied(revision, POD_SECONDS):
            raise TimeoutError(f"the rules of pod {order.namespace}/{order.name} are not in place after {POD_SECONDS:.0f} s")
