"""The table that the Ingress proxy gets; what it does with that, its own Go tests say."""

from __future__ import annotations

from devcluster.cluster.ingress import proxy
from devcluster.cluster.ingress.routes import Path
from devcluster.cluster.ingress.tls import Certificate


def test_a_host_has_its_paths_in_their_order() -> None:
    paths = [Path("/a", "Exact", "team/a", ()), Path("/", "Prefix", "team/web", ("10.42.0.9:8080",))]
    assert proxy.table({"a.test": paths}, {})["hosts"] == {
        "a.test": [
            {"path": "/a", "exact": True, "service": "team/a", "endpoints": ()},
            {"path": "/", "exact": False, "service": "team/web", "endpoints": ("10.42.0.9:8080",)},
        ]
    }


def test_a_certificate_of_several_hosts_is_sent_once() -> None:
    one, two = Certificate("chain one", "key one", ()), Certificate("chain two", "key two", ())
    assert proxy.table({}, {"a.test": one, "b.test": one, "*.test": two})["certificates"] == [
        {"hosts": ["a.test", "b.test"], "chain": "chain one", "key": "key one"},
        {"hosts": ["*.test"], "chain": "chain two", "key": "key two"},
    ]
