"""What of pods, namespaces and policies matters to the rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Object = Mapping[str, Any]

FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class ContainerPort:
    """A port that a container gives a name."""

    name: str
    protocol: str
    number: int


@dataclass(frozen=True)
class Pod:
    """A pod with a network of its own."""

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    node: str
    addresses: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()

    def at(self, addresses: tuple[str, ...]) -> Pod:
        """The same pod with other addresses."""
        return replace(self, addresses=addresses)


def read_pod(pod: Object) -> Pod | None:
    """None for pods that no policy is about: those on the host network, and those whose address is free for another one."""
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    if spec.get("hostNetwork") or status.get("phase") in FINISHED:
        return None
    sidecars = [item for item in spec.get("initContainers", []) if item.get("restartPolicy") == "Always"]
    return Pod(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        labels=meta.get("labels", {}),
        node=spec.get("nodeName", ""),
        addresses=tuple(item["ip"] for item in status.get("podIPs", []) if item.get("ip")),
        ports=tuple(
            ContainerPort(port["name"], port.get("protocol", "TCP"), port["containerPort"])
            for container in [*spec["containers"], *sidecars]
            for port in container.get("ports", [])
            if port.get("name")
        ),
    )


@dataclass(frozen=True)
class Policy:
    """A NetworkPolicy: its identity and its spec as the API server keeps it."""

    uid: str
    namespace: str
    name: str
    spec: Object

    def applies_to(self, direction: str) -> bool:
        """Whether it isolates the pods that it selects, for `Ingress` or `Egress`."""
        default = ["Ingress", *(["Egress"] if self.spec.get("egress") else [])]
        return direction in (self.spec.get("policyTypes") or default)


def read_policy(policy: Object) -> Policy:
    """A policy as it was written."""
    meta = policy["metadata"]
    return Policy(meta["uid"], meta["namespace"], meta["name"], policy.get("spec", {}))


@dataclass(frozen=True)
class Namespace:
    """A namespace."""

    uid: str
    name: str
    labels: Mapping[str, str]


def read_namespace(namespace: Object) -> Namespace:
    """A namespace."""
    meta = namespace["metadata"]
    return Namespace(meta["uid"], meta["name"], meta.get("labels", {}))
