"""HTTPRoutes, and what a Gateway says of them."""

from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.expose import ExposePolicy, GatewayRef
from nestor.cluster.exposure.http_route import build_http_route, judge_http_route
from tests.unit.cluster.exposure.builders import target

Object = dict[str, Any]
GATEWAY = {"name": "public", "namespace": "gateways"}
REF = GatewayRef.model_validate(GATEWAY)


def build(**policy: Any) -> Object:
    """The HTTPRoute of a target."""
    expose = ExposePolicy.model_validate({"gateway": GATEWAY} | policy)
    return build_http_route("shop", "nestor-x", {"a": "b"}, "shop.test", target(), expose)


def test_all_of_a_host_leads_to_the_service() -> None:
    assert build() == {
        "metadata": {"name": "shop", "namespace": "nestor-x", "labels": {"a": "b"}},
        "spec": {
            "parentRefs": [GATEWAY],
            "hostnames": ["shop.test"],
            "rules": [{"backendRefs": [{"name": "web-x-default-x-f3d25cb3", "port": 8080}]}],
        },
    }


def test_a_listener_and_annotations_are_the_classs() -> None:
    found = build(gateway=GATEWAY | {"sectionName": "https"}, annotations={"a": "b"})
    assert found["spec"]["parentRefs"] == [GATEWAY | {"sectionName": "https"}]
    assert found["metadata"]["annotations"] == {"a": "b"}


def test_cert_manager_makes_no_certificate_for_a_gateway_by_a_route() -> None:
    issuer = {"annotations": {"cert-manager.io/cluster-issuer": "x"}}
    assert ExposePolicy.model_validate(issuer).has_issuer
    assert not ExposePolicy.model_validate(issuer | {"gateway": GATEWAY}).has_issuer


def parent(status: str | None, *, generation: int = 2, **ref: str) -> Object:
    """What one controller says of the route."""
    said = {
        "type": "Accepted",
        "status": status,
        "reason": "NotAllowedByListeners",
        "message": "no",
        "observedGeneration": generation,
    }
    return {"parentRef": GATEWAY | ref, "conditions": [said] if status else []}


@pytest.mark.parametrize(
    ("parents", "reason"),
    [
        ([], conditions.GATEWAY_PENDING),
        ([parent("True")], None),
        ([parent("False")], conditions.GATEWAY_REFUSED),
        ([parent("Unknown")], conditions.GATEWAY_REFUSED),
        ([parent(None)], conditions.GATEWAY_PENDING),
        ([parent("True", generation=1)], conditions.GATEWAY_PENDING),
        ([parent("True", name="other")], conditions.GATEWAY_PENDING),
        ([parent("True", namespace="other")], conditions.GATEWAY_PENDING),
        ([parent("False", sectionName="a"), parent("True", sectionName="b")], None),
    ],
)
def test_a_route_is_served_once_its_gateway_says_so(parents: list[Object], reason: str | None) -> None:
    route = build() | {"status": {"parents": parents}}
    route["metadata"]["generation"] = 2
    found = judge_http_route(route, REF)
    assert (found[0] if found else None) == reason
    if reason == conditions.GATEWAY_REFUSED:
        said = "Gateway 'gateways/public' does not accept the HTTPRoute for host 'shop.test': NotAllowedByListeners: no"
        assert found == (reason, said)
