"""The second node's cable: a veth from its own network namespace to the control plane's. Commands are data, for the tests."""

import subprocess
from pathlib import Path

from devcluster.cluster import network, settings
from devcluster.cluster.node.facts import FIRST, SECOND


def setup_commands(netns: Path) -> list[list[str]]:
    """Run in the node's network namespace: plug the cable in at both ends, and route everything of the cluster's by it. `netns`
    is the control plane's namespace."""
    link, prefix = settings.NODE_LINK, settings.NODES_CIDR.partition("/")[2]
    outside = network.enter(netns)
    # Pods have no way out here either: these routes, and no default route. The one of the services is there so that their
    # addresses have a route at all, see `cluster.network`.
    destinations = (f"{FIRST.ip}/32", f"{settings.MACHINE_IP}/32", FIRST.pod_cidr, settings.SERVICE_CIDR)
    return [
        ["ip", "link", "set", "lo", "up"],
        ["ip", "link", "add", link, "type", "veth", "peer", "name", settings.NODE_PORT_LINK, "netns", str(netns)],
        [*outside, "ip", "link", "set", settings.NODE_PORT_LINK, "master", settings.NODES_BRIDGE, "up"],
        ["ip", "address", "add", f"{SECOND.ip}/{prefix}", "dev", link],
        ["ip", "link", "set", link, "up"],
        *(["ip", "route", "add", destination, "via", settings.NODES_GATEWAY] for destination in destinations),
        *(network.refuse_unknown_services(name) for name in (link, settings.POD_BRIDGE)),
    ]


def setup(netns: Path) -> None:
    """Called by the second node's own process 1, in whose network namespace all of this is."""
    for command in setup_commands(netns):
        network.run(command)
    network.write_sysctls([])


def unplug(netns: Path) -> None:
    """Cut the cable, so that nothing more of the node is heard; harmless when it is cut. Called by the supervisor."""
    subprocess.run([*network.enter(netns), "ip", "link", "delete", settings.NODE_PORT_LINK], capture_output=True, check=False)
