"""Addresses that no job may reach, whoever closes them: the network policies for its pods, the runner for its downloads."""

from __future__ import annotations

LINK_LOCAL = ("169.254.0.0/16", "fe80::/10")
"""Most clouds' metadata service, which hands out the node's credentials, is 169.254.169.254."""
METADATA = ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.0/24", "fd00:ec2::254/128", "fd20:ce::254/128")
"""The other ones: Alibaba, Azure's wire server, Oracle, AWS, Google."""
NAT64 = ("64:ff9b::/96", "64:ff9b:1::/48")
"""All of IPv4 once more, the addresses above included."""
