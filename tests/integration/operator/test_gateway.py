"""A class may name a Gateway, whose part the tests play: jobs get HTTPRoutes instead of Ingresses."""

import pytest

from nestor.api import conditions
from nestor.kube import Api, ApiError, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import (
    STEP,
    TARGET,
    Object,
    be_ready_server,
    be_target,
    build_class,
    build_job,
    host_namespace,
    message_of,
    run_of,
)
from tests.waiting import eventually, exists, gone, job_with, wait_for_any, wait_for_none

pytestmark = pytest.mark.slow

API: Object = {"service_name": "api", "service_port": 9090, "service_namespace": "default"}
GATEWAY = {"name": "public", "namespace": "gateways"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION: Object = {
    # As much of Gateway API's own as matters here: the fields that Nestor writes, and a status that only its controllers write.
    "metadata": {
        "name": "httproutes.gateway.networking.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/2466"},
    },
    "spec": {
        "group": "gateway.networking.k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "HTTPRoute", "listKind": "HTTPRouteList", "plural": "httproutes", "singular": "httproute"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "parentRefs": {"type": "array", "maxItems": 32, "items": ANYTHING},
                                    "hostnames": {"type": "array", "maxItems": 16, "items": {"type": "string"}},
                                    "rules": {"type": "array", "maxItems": 16, "items": ANYTHING},
                                },
                            },
                            "status": ANYTHING,
                        },
                    }
                },
            }
        ],
    },
}


async def make_class(api: Api, namespace: str, *, has_gateway: bool = True) -> str:
    """A class with a Gateway, or with an Ingress controller."""
    body = build_class(f"gateway-{namespace}", controllerCertificate=True)
    if has_gateway:
        body["spec"]["expose"] |= {"gateway": GATEWAY}
        del body["spec"]["expose"]["ingressClassName"]
    await api.apply(kinds.NESTED_CLASS, body)
    return str(body["metadata"]["name"])


async def define(api: Api) -> None:
    """Have the host know HTTPRoutes."""
    await api.apply(kinds.CRD, DEFINITION)

    async def is_served() -> bool:
        try:
            await api.list(kinds.HTTP_ROUTE)
        except ApiError:
            return False
        return True

    await eventually(is_served)


async def answer(api: Api, route: Object, status: str, reason: str = "Accepted") -> None:
    """What a Gateway's controller would write."""
    meta = route["metadata"]
    said = {"type": "Accepted", "status": status, "reason": reason, "message": "", "observedGeneration": meta["generation"]}
    parents = [{"parentRef": GATEWAY, "controllerName": "test/controller", "conditions": [said]}]
    await api.patch(kinds.HTTP_ROUTE, meta["name"], meta["namespace"], {"status": {"parents": parents}}, subresource="status")


async def route_for(api: Api, where: str, host: str) -> Object:
    """The HTTPRoute with that host."""
    return await wait_for_any(api, kinds.HTTP_ROUTE, where, lambda item: item["spec"]["hostnames"] == [host])


async def test_a_host_without_the_kind_is_told_and_one_that_has_it_serves(operator: Operator, api: Api, namespace: str) -> None:
    name = await make_class(api, namespace)
    wish: Object = {"className": name, "expose": {"allTargets": True}}
    nested = {"targets": [TARGET, API], "templates": [STEP]}
    job = await api.create(kinds.NESTED_APP_JOB, build_job("web", namespace, nested=nested, **wish))
    refused = await job_with(api, "web", namespace, conditions.EXPOSED, "False", conditions.GATEWAY_UNAVAILABLE)
    assert "the host cluster has no HTTPRoutes" in message_of(refused, conditions.EXPOSED)

    await define(api)
    where, hosts = await host_namespace(api, job), (f"web-{namespace}.jobs.test", f"api--web-{namespace}.jobs.test")
    first, second = [await route_for(api, where, host) for host in hosts]
    assert first["spec"]["parentRefs"] == [GATEWAY]
    pending = await job_with(api, "web", namespace, conditions.EXPOSED, "False", conditions.GATEWAY_PENDING)
    assert "Gateway 'gateways/public' has not accepted the HTTPRoute" in message_of(pending, conditions.EXPOSED)
    assert pending["status"]["gateway"] == "gateways/public"
    await operator.heard(api)
    assert await api.list(kinds.INGRESS, where) == []
    await answer(api, first, "False", "NotAllowedByListeners")
    await answer(api, second, "True")
    refused = await job_with(api, "web", namespace, conditions.EXPOSED, "False", conditions.GATEWAY_REFUSED)
    assert message_of(refused, conditions.EXPOSED).startswith(
        f"Gateway 'gateways/public' does not accept the HTTPRoute for host '{hosts[0]}': NotAllowedByListeners"
    )
    await answer(api, first, "True")
    await be_ready_server(api, "web", where, run=await run_of(api, "web", where, "Succeeded"))
    await be_target(api, where, job)
    await be_target(api, where, job, service="api", port=9090)
    ready = await job_with(api, "web", namespace, conditions.EXPOSED, "True")
    assert ready["status"]["url"] == f"https://{hosts[0]}:8080/"
    port = first["spec"]["rules"][0]["backendRefs"][0]
    assert await api.find(kinds.SERVICE, port["name"], where)

    # A target that is not exposed any more, and a class without a Gateway.
    await api.patch(kinds.NESTED_APP_JOB, "web", namespace, {"spec": {"expose": {"allTargets": False}}})
    await gone(api, kinds.HTTP_ROUTE, second["metadata"]["name"], where)
    await make_class(api, namespace, has_gateway=False)
    await exists(api, kinds.INGRESS, "web", where)
    await wait_for_none(api, kinds.HTTP_ROUTE, where)
    await exists(api, kinds.NESTED_APP_JOB, "web", namespace, lambda found: "gateway" not in found["status"])
    await make_class(api, namespace)
    again = await route_for(api, where, hosts[0])
    await job_with(api, "web", namespace, conditions.EXPOSED, "False", conditions.GATEWAY_PENDING)
    assert await api.find(kinds.INGRESS, "web", where), "until the Gateway serves the host"
    await answer(api, again, "True")
    await wait_for_none(api, kinds.INGRESS, where)
    await api.delete(kinds.NESTED_CLASS, name)


async def test_a_gateway_excludes_what_only_ingresses_have(api: Api, namespace: str) -> None:
    body = build_class(f"wrong-{namespace}", gateway=GATEWAY)
    with pytest.raises(Invalid, match="`gateway` may not be set together with"):
        await api.apply(kinds.NESTED_CLASS, body)
