"""Mode Shared, the only one: the application's pods run in the host cluster. Lists the objects of such a cluster. Pure.

A mode decides here which objects a `Shape` becomes; `provision` applies them, in the same order for all modes.
"""

from __future__ import annotations

from nestor.api.class_parts import NetworkPolicyModel
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object
from nestor.cluster import access, coredns, policies, server
from nestor.cluster.home import Home
from nestor.cluster.shape import Host, Shape
from nestor.kube import Kind, kinds

Body = tuple[Kind, Object]


def build_shape(
    spec: NestedClusterSpec,
    home: Home,
    policy: NestedClassSpec,
    *,
    host: Host,
    nestor_image: str,
    core_dns_image: str,
    replicas: int = 1,
) -> Shape:
    """The shape of a cluster with a complete `spec`, that is, one with an image and, if it has a volume, with that."""
    return Shape(
        **vars(home),
        image=spec.image or "",
        core_dns_image=core_dns_image,
        nestor_image=nestor_image,
        host=host,
        resources=policy.cluster.resources,
        network=_open_api(policy),
        services=policy.services,
        exposed_from=tuple(policy.expose.from_),
        has_snapshots=policy.storage is not None and bool(policy.storage.snapshot_classes),
        has_devices=policy.devices is not None and bool(policy.devices.classes),
        has_budgets=policy.placement is not None and policy.placement.disruption_budgets,
        has_issuer=policy.expose.has_issuer,
        persistence=spec.persistence,
        replicas=replicas,
    )


def _open_api(policy: NestedClassSpec) -> NetworkPolicyModel:
    """The class's network, where Argo CD reaches the API server even if only some others do."""
    if policy.argo_cd is None or not policy.network.api_from:
        return policy.network
    peers = [*policy.network.api_from, policy.argo_cd.namespace]
    return policy.network.model_copy(update={"api_from": peers})


def build_services(shape: Shape) -> tuple[Object, Object]:
    """The Services of its API and its DNS; other objects depend on their addresses."""
    return server.build_api_service(shape), server.build_dns_service(shape)


def build_surroundings(shape: Shape) -> list[Body]:
    """The objects that its pods need before they start and that do not depend on addresses."""
    return [
        (kinds.SERVICE_ACCOUNT, access.build_service_account(shape)),
        (kinds.ROLE_BINDING, access.build_role_binding(shape)),
        (kinds.CLUSTER_ROLE_BINDING, access.build_nodes_binding(shape)),
        *((kinds.NETWORK_POLICY, policy) for policy in policies.build_policies(shape)),
    ]


def build_configuration(shape: Shape, api_address: str) -> Body:
    """What its pods mount in addition to keys."""
    return kinds.CONFIG_MAP, coredns.build_config_map(shape, api_address)


def build_server(shape: Shape, api_address: str) -> Body:
    return kinds.STATEFUL_SET, server.build_stateful_set(shape, api_address)


def list_containers(shape: Shape) -> list[Object]:
    found: list[Object] = build_server(shape, "")[1]["spec"]["template"]["spec"]["containers"]
    return found
