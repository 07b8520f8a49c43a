"""Everything that is known of the cluster at one moment, with the questions that the rules ask of it. Pure."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from devcluster.cluster.policies.objects import Namespace, Pod, Policy
from devcluster.cluster.policies.selectors import matches


class World:
    """Pods, namespaces and policies. What it answers is remembered, so each moment needs a new one."""

    def __init__(self, pods: Iterable[Pod], namespaces: Iterable[Namespace], policies: Iterable[Policy]) -> None:
        self.pods = tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name, pod.uid)))
        self._labels = {item.name: item.labels for item in namespaces}
        self._policies = tuple(sorted(policies, key=lambda item: (item.namespace, item.name, item.uid)))
        self._peers: dict[str, tuple[Pod, ...]] = {}

    @cached_property
    def _pods_of(self) -> Mapping[str, list[Pod]]:
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod in self.pods:
            found[pod.namespace].append(pod)
        return found

    @cached_property
    def _policies_of(self) -> Mapping[str, list[Policy]]:
        found: dict[str, list[Policy]] = defaultdict(list)
        for policy in self._policies:
            found[policy.namespace].append(policy)
        return found

    def isolating(self, pod: Pod, direction: str) -> tuple[Policy, ...]:
        """The policies that isolate a pod in a direction; without any, it is open."""
        return tuple(
            policy
            for policy in self._policies_of.get(pod.namespace, [])
            if policy.applies_to(direction) and matches(policy.spec.get("podSelector") or {}, pod.labels)
        )

    def peers(self, namespace: str, peer: Mapping[str, Any]) -> tuple[Pod, ...]:
        """The pods that a peer of a policy in `namespace` selects."""
        key = peer_key(namespace, peer)
        if key not in self._peers:
            self._peers[key] = self._find(namespace, peer)
        return self._peers[key]

    def _find(self, namespace: str, peer: Mapping[str, Any]) -> tuple[Pod, ...]:
        by_namespace = peer.get("namespaceSelector")
        names = [namespace]
        if by_namespace is not None:
            names = [name for name, labels in self._labels.items() if matches(by_namespace, labels)]
        selector = peer.get("podSelector") or {}
        return tuple(pod for name in names for pod in self._pods_of.get(name, []) if matches(selector, pod.labels))


def peer_key(namespace: str, peer: Mapping[str, Any]) -> str:
    """The same for peers that always select the same pods. A `namespaceSelector` looks at all namespaces, so it does not matter
    in which one such a policy is."""
    own = namespace if peer.get("namespaceSelector") is None else ""
    return json.dumps([own, peer.get("namespaceSelector"), peer.get("podSelector") or {}], sort_keys=True)
