"""Which addresses a download may go to. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA = tuple(
    ipaddress.ip_network(network)
    for network in ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.0/24", "fd00:ec2::254/128", "fd20:ce::254/128")
)
"""Where clouds hand out the node's credentials, besides the link-local 169.254.169.254: Alibaba, Azure, Oracle, AWS, Google."""
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")


def explain_refusal(text: str, denied: Iterable[str] = ()) -> str | None:
    """Why nothing is fetched from this address, as the end of a sentence; None when it may be.

    `denied` are addresses or networks, as those of the host's API server.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    networks = [ipaddress.ip_network(network, strict=False) for network in denied]
    for form in _find_forms(address):
        if any(form in network for network in networks):
            return "belongs to the cluster that runs the job"
        if reason := _explain(form):
            return reason
    return None


def _explain(address: Address) -> str | None:
    if any(address in network for network in METADATA):
        return "is a cloud's metadata service"
    if address.is_loopback:
        return "is the runner itself"
    if address.is_link_local:
        return "is link-local, as clouds' metadata services are"
    if address.is_multicast:
        return "is a multicast address"
    # 0.0.0.0/8 all means "this host".
    if address.is_unspecified or (address.version == 4 and int(address) >> 24 == 0):
        return "is not a server's address"
    if isinstance(address, ipaddress.IPv4Address) and address == ipaddress.IPv4Address("255.255.255.255"):
        return "is the broadcast address"
    return None


def _find_forms(address: Address) -> list[Address]:
    """The address, and the IPv4 ones that it stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    embedded = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in (*_NAT64, _COMPATIBLE)) and int(address) > 1:
        embedded.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(form for form in embedded if form is not None)]
