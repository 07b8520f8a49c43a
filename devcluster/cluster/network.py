"""The control plane's network namespace and its link to the machine. Commands are data, so that tests read them without root."""

import subprocess
import time
from pathlib import Path

from devcluster.cluster import settings
from devcluster.cluster.node import facts

LINK_GONE_SECONDS = 10.0

# Inside the namespace. Routing is per namespace in Linux: nothing of this changes the machine's own.
SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/conf/all/route_localnet": "1",
    # Packets between two pods of a node are bridged; kube-proxy and the enforcer of network policies must see them.
    "net/bridge/bridge-nf-call-iptables": "1",
    "net/bridge/bridge-nf-call-ip6tables": "1",
    # Who is refused by a policy is told each time.
    "net/ipv4/icmp_ratelimit": "0",
}


def setup_commands(netns: Path) -> list[list[str]]:
    """Make the namespace (kept alive by a mount on the file `netns`), the link, the addresses and the routes."""
    inside = enter(netns)
    machine, node = settings.MACHINE_LINK, settings.NODE_LINK
    return [
        ["unshare", f"--net={netns}", "true"],
        # Made inside and handed out: the cluster's end is then never seen among the machine's links. Process 1 is the
        # supervisor itself, which stays in the machine's network namespace.
        [*inside, "ip", "link", "add", node, "type", "veth", "peer", "name", machine, "netns", "1"],
        [*inside, "ip", "link", "set", "lo", "up"],
        [*inside, "ip", "address", "add", f"{settings.CONTROL_PLANE_IP}/{settings.LINK_PREFIX}", "dev", node],
        [*inside, "ip", "link", "set", node, "up"],
        # Only so that a service address has a route at all: kube-proxy rewrites the destination before anything is sent.
        # There is deliberately no default route, pods have no way out.
        [*inside, "ip", "route", "add", settings.SERVICE_CIDR, "via", settings.MACHINE_IP],
        *([*inside, *refuse_unknown_services(link)] for link in (node, settings.POD_BRIDGE)),
        ["ip", "address", "add", f"{settings.MACHINE_IP}/{settings.LINK_PREFIX}", "dev", machine],
        ["ip", "link", "set", machine, "up"],
        ["ip", "route", "add", settings.POD_CIDR, "via", settings.CONTROL_PLANE_IP],
        ["ip", "route", "add", settings.SERVICE_CIDR, "via", settings.CONTROL_PLANE_IP],
    ]


def second_node_commands(netns: Path) -> list[list[str]]:
    """Prepare the namespace for a second node. The link is a bridge, whose address and routes stay while the node is stopped:
    what is sent to it is then lost, as with a real node, and not refused at once by the kernel for want of a route."""
    inside, bridge = enter(netns), settings.NODES_BRIDGE
    prefix = settings.NODES_CIDR.partition("/")[2]
    return [
        [*inside, "ip", "link", "add", bridge, "type", "bridge"],
        [*inside, "ip", "address", "add", f"{settings.NODES_GATEWAY}/{prefix}", "dev", bridge],
        [*inside, "ip", "link", "set", bridge, "up"],
        [*inside, "ip", "route", "add", facts.SECOND.pod_cidr, "via", facts.SECOND.ip],
        [*inside, *refuse_unknown_services(bridge)],
        ["ip", "route", "add", settings.NODES_CIDR, "via", settings.CONTROL_PLANE_IP],
    ]


def enter(netns: Path) -> list[str]:
    """What to put before a command that is to run in a network namespace."""
    return ["nsenter", f"--net={netns}"]


def refuse_unknown_services(link: str) -> list[str]:
    """What comes in by a link and is still for a service address after kube-proxy's rewriting is for a service that kube-proxy
    does not know (yet). Refused, the client tries again at once; lost, it would wait for its own timeout, half a minute, since
    the kernel does not look at new rules for a connection that it has seen."""
    return ["ip", "rule", "add", "iif", link, "to", settings.SERVICE_CIDR, "unreachable"]


def setup(netns: Path, *, has_second_node: bool) -> None:
    """Make the namespace, with its own kernel settings."""
    netns.touch()
    for command in [*setup_commands(netns), *(second_node_commands(netns) if has_second_node else [])]:
        run(command)
    write_sysctls(enter(netns))


def write_sysctls(inside: list[str]) -> None:
    """Set the kernel settings of a network namespace."""
    for name, value in SYSCTLS.items():
        # Written by a process inside, since /proc/sys/net shows the namespace of whoever opens it.
        run([*inside, "sh", "-c", f"echo {value} > /proc/sys/{name}"])


def remove_link() -> None:
    """Remove the machine's end of the link and with it its routes. The kernel does so itself, but later, once the last
    process of the cluster is gone; taking it away at once lets the next cluster start at once."""
    subprocess.run(["ip", "link", "delete", settings.MACHINE_LINK], capture_output=True, check=False)
    deadline = time.monotonic() + LINK_GONE_SECONDS
    while link_exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def link_exists() -> bool:
    """Whether the machine has our link."""
    return (Path("/sys/class/net") / settings.MACHINE_LINK).exists()


def conflicts() -> list[str]:
    """Routes of the machine that claim an address of ours, so that a VPN's or another cluster's traffic is not taken over."""
    routes = run(["ip", "-4", "route", "show"]).splitlines()
    prefixes = tuple(cidr.rsplit(".", 2)[0] + "." for cidr in (settings.POD_CIDR, settings.SERVICE_CIDR, "10.40.0.0/16"))
    return [route for route in routes if route.startswith(prefixes) and settings.MACHINE_LINK not in route]


def run(command: list[str]) -> str:
    """Run one command to its end; its error text becomes the exception's."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"'{' '.join(command)}' failed: {result.stderr.strip() or result.returncode}")
    return result.stdout
