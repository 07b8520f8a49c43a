"""Two NetworkPolicies on the host for each Service with node ports or a load balancer.

Nestor's own policies let nobody in from outside the cluster. The first one lets traffic in to the pods of the Service, at its
ports: as everywhere in Kubernetes, from all addresses, since most of such traffic comes with the address of a node. Nested
policies that isolate the Service's pods say from where, and at which of its ports; never at other ports, since a policy of the
nested cluster opens nothing that its class does not.

Nestor's own policies also let no pod connect to a node. The second one lets the cluster's pods connect to the nodes that it shows
them, at the Service's node ports and no others.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from nestor.api import labels
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.kube import Change, kinds
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.fields import TABLES
from nestor.pods.translate.labels import is_match
from nestor.pods.translate.target import nested_key
from nestor.syncer.copies.row import Row
from nestor.syncer.copies.rows.network_policies import PolicyRow
from nestor.syncer.translate import service as translate
from nestor.syncer.translate.network_policy import list_types, read_block

_POLICY = {"apiVersion": kinds.NETWORK_POLICY.api_version, "kind": kinds.NETWORK_POLICY.name}


class _OutwardRow(PolicyRow):
    """The key is a Service's; the source is the Service, if it is reached from outside."""

    is_computed = True
    suffix: ClassVar[str]
    """Of the policy's name, which begins as the host Service's."""

    def find_source(self, key: Key) -> Object | None:
        """The Service, if there is something to open for it. One without a selector has no pods that a policy could select."""
        service = self.caches.nested(kinds.SERVICE).get(key[1], key[0])
        if service is None or not spec_of(service).get("selector") or not translate.is_synced(service):
            return None
        is_outward = translate.find_type(service, self.policy.allowed_services) != "ClusterIP"
        return service if is_outward and self.build_rules(service) else None

    def build_rules(self, service: Object) -> list[Object]:
        raise NotImplementedError

    def copy_key(self, key: Key) -> Key:
        namespace, name = super().copy_key(key)
        return namespace, f"{name}-{self.suffix}"

    def source_key(self, copy: Object) -> Key | None:
        return nested_key(copy) if labels_of(copy).get(labels.PURPOSE) == self.name else None

    def build_policy(self, source: Object, spec: Object) -> Object:
        metadata = self.context.target.metadata(source, name=self.copy_key(key_of(source))[1])
        metadata["labels"][labels.PURPOSE] = self.name
        return _POLICY | {"metadata": metadata, "spec": spec}

    def wake_all(self, _: Change | None = None) -> None:
        self.wake_each(self.caches.nested(kinds.SERVICE))

    def wake_outward(self, services: Iterable[Object]) -> None:
        """Look at those of these Services that ask to be reached from outside."""
        self.wake_each(found for found in services if spec_of(found).get("type") in translate.OUTWARD)

    def set_up(self) -> None:
        self.caches.nested(kinds.SERVICE).on_change(
            lambda change: self.wake_outward(item for item in (change.old, change.new) if item is not None)
        )


class ServiceAccessRow(_OutwardRow):
    """Lets everybody in to the Service's pods."""

    name, suffix = "service-access", "access"

    def build_rules(self, service: Object) -> list[Object]:
        return build_rules(service, self._list_covering(service))

    def _list_covering(self, service: Object) -> list[Object]:
        return list_covering(service, self.caches.by_namespace(kinds.NETWORK_POLICY).all(service["metadata"]["namespace"]))

    def build(self, source: Object) -> Object:
        selector: Object = {"matchLabels": translate.build_selector(source, self.context.target)}
        if not self._list_covering(source):
            # Of policies that isolate some of the pods only, these are left out: their ports cannot be told from the others'.
            selector["matchExpressions"] = [{"key": labels.ISOLATED_INGRESS, "operator": "DoesNotExist"}]
        spec = {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": self.build_rules(source)}
        return self.build_policy(source, spec)

    def set_up(self) -> None:
        super().set_up()
        services = self.caches.by_namespace(kinds.SERVICE)
        self.caches.nested(kinds.NETWORK_POLICY).on_change(lambda change: self.wake_outward(services.all(change.key[0])))


class NodePortsRow(_OutwardRow):
    """Lets the cluster's pods out to the Service's node ports."""

    name, suffix = "node-ports", "nodes"

    def build_rules(self, service: Object) -> list[Object]:
        namespace, name = Row.copy_key(self, key_of(service))
        return build_node_rules(self.caches.host(kinds.SERVICE).get(name, namespace), self.caches.host_nodes)

    def build(self, source: Object) -> Object:
        """Pods that nested policies isolate are let out by these alone."""
        pods = self.context.target.scope(None) | {labels.COMPONENT: labels.COMPONENT_APP}
        isolated = [{"key": labels.ISOLATED_EGRESS, "operator": "DoesNotExist"}]
        selector = {"matchLabels": pods, "matchExpressions": isolated}
        return self.build_policy(source, {"podSelector": selector, "policyTypes": ["Egress"], "egress": self.build_rules(source)})

    def set_up(self) -> None:
        super().set_up()
        self.caches.host(kinds.SERVICE).on_change(self._on_host)
        self.caches.host_nodes.on_change(self._on_node)

    def _on_host(self, change: Change) -> None:
        if list_node_ports(change.old) != list_node_ports(change.new):
            self.wake(nested_key(change.latest))

    def _on_node(self, change: Change) -> None:
        if list_addresses(change.old) != list_addresses(change.new):
            self.wake_outward(self.caches.nested(kinds.SERVICE))


ROWS = (ServiceAccessRow, NodePortsRow)


_RULE, _PEER, _PORT = (TABLES[f"NetworkPolicy{part}"] for part in ("IngressRule", "Peer", "Port"))


def list_covering(service: Object, policies: Iterable[Object]) -> list[Object]:
    """The nested policies that isolate all pods of a Service, whatever other labels these have."""
    own = spec_of(service).get("selector") or {}
    return [policy for policy in policies if "Ingress" in list_types(policy) and _covers(policy, own)]


def build_rules(service: Object, covering: Sequence[Object]) -> list[Object]:
    """The rules for ingress from outside. `covering`: see `list_covering`; without any, everybody gets in."""
    ports = [_read_port(port) for port in spec_of(service).get("ports") or ()]
    if not covering:
        return [{"ports": ports}]
    rules = (rule for policy in covering for rule in policy["spec"].get("ingress") or ())
    return [built for rule in rules if (built := _narrow(rule, ports))]


def build_node_rules(host: Object | None, nodes: Iterable[Object]) -> list[Object]:
    """The rule for egress to the node ports of a host Service, at the addresses of these nodes of the host; none without any."""
    ports = [{"protocol": protocol, "port": number} for protocol, number in list_node_ports(host)]
    addresses = sorted({address for node in nodes for address in list_addresses(node)})
    blocks = [{"ipBlock": {"cidr": f"{address}/{128 if ':' in address else 32}"}} for address in addresses]
    return [{"to": blocks, "ports": ports}] if ports and blocks else []


def list_node_ports(host: Object | None) -> list[tuple[str, int]]:
    """Protocol and number of a host Service's node ports."""
    ports = spec_of(host).get("ports") or ()
    return [(port.get("protocol", "TCP"), port["nodePort"]) for port in ports if port.get("nodePort")]


def list_addresses(node: Object | None) -> list[str]:
    """By which other nodes, and pods, reach a node."""
    return [item["address"] for item in status_of(node).get("addresses") or () if item["type"] == "InternalIP"]


def _covers(policy: Object, own: dict[str, str]) -> bool:
    selector = policy["spec"].get("podSelector") or {}
    is_known = all(item["key"] in own for item in selector.get("matchExpressions") or ())
    return is_known and is_match(selector, own)


def _narrow(rule: Object, ports: Sequence[Object]) -> Object | None:
    """What a nested rule says about these ports and the world outside; None if it is nothing.

    Whoever uses a field that is newer than this version of Nestor may mean less than the rest of the rule says.
    """
    given, wanted = rule.get("from"), rule.get("ports")
    known = (peer for peer in given or () if peer.get("ipBlock") and not peer.keys() - _PEER.keys())
    blocks = [{"ipBlock": peer["ipBlock"]} for peer in known if read_block(peer["ipBlock"]) is not None]
    opened = [port for port in ports if not wanted or any(_is_in(port, item) for item in wanted)]
    if rule.keys() - _RULE.keys() or not opened or (given and not blocks):
        return None
    return {"ports": opened} | ({"from": blocks} if blocks else {})


def _is_in(port: Object, wanted: Object) -> bool:
    """Whether a rule's port includes this one. A name may stand for another number in each pod, so it equals only itself."""
    if wanted.keys() - _PORT.keys() or wanted.get("protocol", "TCP") != port["protocol"]:
        return False
    first, number = wanted.get("port"), port["port"]
    if isinstance(first, int) and isinstance(number, int):
        return first <= number <= int(wanted.get("endPort") or first)
    return first is None or first == number


def _read_port(port: Object) -> Object:
    return {"protocol": port.get("protocol", "TCP"), "port": port.get("targetPort") or port["port"]}
