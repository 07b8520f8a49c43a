import ipaddress

import pytest

from nestor.api.contracts import addresses

CLOSED = """
    127.0.0.1 127.8.9.10 ::1 ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 169.254.169.254 169.254.0.1
    ::ffff:169.254.169.254 ::ffff:a9fe:a9fe 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 2001:0:a9fe:a9fe::1 fe80::1 fe80::1%eth0
    fd00:ec2::254 100.100.100.200 ::ffff:100.100.100.200 168.63.129.16 192.0.0.192 fd20:ce::254 64:ff9b:1::a9fe:a9fe
    224.0.0.1 ff02::1 0.0.0.0 0.1.2.3 :: 255.255.255.255
"""
OPEN = """
    93.184.216.34 10.43.0.17 192.168.1.1 172.16.0.1 100.100.100.201 2606:2800:220:1::1 fd00::17 ::ffff:8.8.8.8
    64:ff9b::808:808
"""


@pytest.mark.parametrize("address", CLOSED.split())
def test_nothing_is_fetched_from_the_node_or_the_cloud(address: str) -> None:
    assert addresses.explain_refusal(address) is not None


@pytest.mark.parametrize("address", OPEN.split())
def test_the_internet_and_the_clusters_own_services_are_open(address: str) -> None:
    assert addresses.explain_refusal(address) is None


@pytest.mark.parametrize("network", [*addresses.LINK_LOCAL, *addresses.METADATA])
def test_the_runner_closes_what_the_network_policies_close(network: str) -> None:
    first = ipaddress.ip_network(network)[0]
    assert addresses.explain_refusal(str(first)) is not None
    if isinstance(first, ipaddress.IPv4Address):
        for nat64 in addresses.NAT64:
            form = int(ipaddress.IPv6Network(nat64)[0]) + int(first)
            assert addresses.explain_refusal(str(ipaddress.IPv6Address(form))) is not None


@pytest.mark.parametrize("address", ["10.40.0.2", "::ffff:10.40.0.2", "fd12::1", "10.43.0.1"])
def test_the_hosts_api_server_is_refused_in_all_its_forms(address: str) -> None:
    reason = "belongs to the cluster that runs the job"
    assert addresses.explain_refusal(address, ["10.40.0.2", "fd12::/64", "10.43.0.1/32"]) == reason
    assert addresses.explain_refusal("10.40.0.3", ["10.40.0.2"]) is None


def test_the_reason_is_told() -> None:
    assert addresses.explain_refusal("169.254.169.254") == "is link-local, as clouds' metadata services are"
    assert addresses.explain_refusal("100.100.100.200") == "is a cloud's metadata service"
    assert addresses.explain_refusal("::1") == "is the runner itself"
