"""Addresses that no job may reach, whoever closes them: the network policies for its pods, the runner for its
downloads, the operator for its notices."""

import ipaddress
from collections.abc import Iterable

LINK_LOCAL = ("169.254.0.0/16", "fe80::/10")
"""Most clouds' metadata service, which hands out the node's credentials, is 169.254.169.254."""
METADATA = ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.0/24", "fd00:ec2::254/128", "fd20:ce::254/128")
"""The other ones: Alibaba, Azure's wire server, Oracle, AWS, Google."""
NAT64 = ("64:ff9b::/96", "64:ff9b:1::/48")
"""All of IPv4 once more, the addresses above included."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = tuple(ipaddress.ip_network(network) for network in METADATA)
_LINK_LOCAL = tuple(ipaddress.ip_network(network) for network in LINK_LOCAL)
_NAT64 = tuple(ipaddress.ip_network(network) for network in NAT64)
_COMPATIBLE = ipaddress.IPv6Network("::/96")


def explain_refusal(text: str, denied: Iterable[str] = (), *, own: str = "the runner") -> str | None:
    """Why nobody connects to this address, as the end of a sentence; None when it may be done.

    `denied` are addresses or networks, as those of the host's API server. `own`: whoever would connect.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    networks = [ipaddress.ip_network(network, strict=False) for network in denied]
    for form in _find_forms(address):
        if any(form in network for network in networks):
            return "belongs to the cluster that runs the job"
        if reason := _explain(form, own):
            return reason
    return None


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def is_metadata(text: str) -> bool:
    """Whether this is an address of a cloud's metadata service, or may be, in whichever form."""
    forms = _find_forms(ipaddress.ip_address(text.partition("%")[0]))
    return any(form in network for form in forms for network in (*_METADATA, *_LINK_LOCAL))


def _explain(address: Address, own: str) -> str | None:
    if any(address in network for network in _METADATA):
        return "is a cloud's metadata service"
    if address.is_loopback:
        return f"is {own} itself"
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
