"""Services: each nested Service with a cluster IP has a host Service with the same one.

Both clusters allocate addresses from the same range without knowing of each other. A new Service therefore gets its address from
the host, before it exists (`syncer/cluster/addresses.py`). One for which that failed keeps the nested cluster's own choice; if
the host has given that address away, its owner is told to create the Service again.
"""

from __future__ import annotations

import datetime
import time

from nestor.api import labels, times
from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object, annotations_of, spec_of, status_of
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, RetryLater, kinds
from nestor.kube.informer import Key, key_of
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, annotation, fixed, mapping, optional, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import service as translate

_RELEASE_SECONDS = 5
_RESERVATION = datetime.timedelta(minutes=1)
"""How long a request may take at an API server."""
_OWNED = (*translate.FIELDS, *translate.OUTWARD_FIELDS, *translate.BALANCER_FIELDS)


class ServiceRow(Row):
    """Services with an address."""

    kind = kinds.SERVICE
    refused = "ServiceNotSynced"
    follows_policy = True
    is_small = True
    fields = (
        LABELS,
        ANNOTATIONS,
        annotation(labels.RESERVED_UNTIL),
        annotation(labels.REFUSED_PORTS),
        value("spec.type"),
        *(value(f"spec.{name}") for name in _OWNED),
        *(optional(f"spec.{name}") for name in (*translate.FAMILY_FIELDS, "clusterIPs")),
        value("spec.ports"),
        mapping("spec.selector"),
        fixed("spec.clusterIP"),
    )

    def set_up(self) -> None:
        self._released: dict[str, float] = {}

    @property
    def _allowed(self) -> AllowedServices:
        return self.policy.allowed_services

    def is_wanted(self, key: Key, source: Object) -> bool:
        """Unless it exists only in the nested cluster and its DNS."""
        return translate.decide_fate(source) == "Synced"

    def find_ignored(self, source: Object) -> str | None:
        return "; ".join(translate.find_ignored(source, self._allowed)) or None

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """On their ports, too."""
        total = sum(map(_count_ports, self.copies))
        surplus = limits.find_excess_of_ports(total, _count_ports(copy), _count_ports(desired))
        return surplus or super().find_excess(copy, desired)

    def build(self, source: Object) -> Object:
        there = self.find_copy(key_of(source))
        own_ports = there is None or not _is_refused(source, there)
        desired = translate.build_service(
            source, self.context.target, source["spec"].get("clusterIP"), self._allowed, own_ports=own_ports
        )
        if there is not None and not own_ports:
            desired["metadata"]["annotations"][labels.REFUSED_PORTS] = annotations_of(there)[labels.REFUSED_PORTS]
        return desired

    def build_ahead(self, source: Object, error: Invalid | None = None) -> Object:
        """With a note when it goes, should the nested Service never come."""
        desired = self.build(source) if error is None else self._build_freely(source, error)
        desired["metadata"]["annotations"][labels.RESERVED_UNTIL] = times.write(times.now() + _RESERVATION)
        return desired

    def find_reprieve(self, copy: Object) -> float:
        """A Service that is being created may take a minute: other webhooks are asked after ours."""
        until = annotations_of(copy).get(labels.RESERVED_UNTIL)
        return max(0.0, min(-times.seconds_since(until), _RESERVATION.total_seconds())) if until else 0.0

    def _build_freely(self, source: Object, error: ApiError) -> Object:
        """The copy of a Service that does not exist yet: if an address that it asks for is taken, the host chooses."""
        if not _is_taken(error):
            return self.build_substitute(source, error)
        self._await_release(source)
        return translate.build_service(source, self.context.target, None, self._allowed, own_ports=False)

    def build_substitute(self, source: Object, error: ApiError) -> Object:
        """If a node port is taken, let the host choose."""
        allowed, target, there = self._allowed, self.context.target, self.find_copy(key_of(source))
        if _is_taken(error):
            self._await_release(source)
            address = source["spec"].get("clusterIP")
            message = f"the host has given its address {address} to another Service; delete this Service and create it again"
            raise Forbidden(403, "Forbidden", message) from error
        numbers = _list_ports(source)
        if not _is_port_taken(error) or not numbers or (there is not None and annotations_of(there).get(labels.REFUSED_PORTS)):
            raise error
        desired = translate.build_service(source, target, source["spec"].get("clusterIP"), allowed, own_ports=False)
        desired["metadata"]["annotations"][labels.REFUSED_PORTS] = numbers
        return desired

    async def align(self, source: Object, copy: Object) -> None:
        """Node ports that the host had to choose are the nested Service's, too: they can be changed there."""
        if not _is_refused(source, copy) or (ports := translate.find_own_ports(source, copy)) is None:
            return
        meta = source["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "spec": {"ports": ports}}
        try:
            await self.context.nested.patch(kinds.SERVICE, meta["name"], meta["namespace"], patch)
        except Conflict as error:
            raise RetryLater(0.1, "the Service was changed meanwhile") from error

    def lift(self, source: Object, copy: Object) -> Object | None:
        """Where its load balancer is."""
        now = (status_of(source).get("loadBalancer") or {}).get("ingress")
        if spec_of(copy).get("type") == "LoadBalancer":
            wanted = (status_of(copy).get("loadBalancer") or {}).get("ingress")
        elif spec_of(source).get("type") == "LoadBalancer":
            return None  # whoever provides load balancers inside the nested cluster
        else:
            wanted = None
        return {"status": {"loadBalancer": {"ingress": wanted}}} if (wanted or None) != (now or None) else None

    def copy_gone(self, copy: Object) -> None:
        """Remember its address, which the host releases a moment later."""
        self._forget_released()
        self._released[copy["spec"].get("clusterIP", "")] = time.monotonic()

    def _await_release(self, source: Object) -> None:
        """Raises `RetryLater` while the host is releasing the Service's address."""
        self._forget_released()
        if source["spec"].get("clusterIP") in self._released:
            raise RetryLater(0.1, "the host has not released the address yet")

    def _forget_released(self) -> None:
        due = time.monotonic() - _RELEASE_SECONDS
        self._released = {key: when for key, when in self._released.items() if when > due}


def _count_ports(service: Object | None) -> int:
    return len(spec_of(service).get("ports") or ())


def _is_taken(error: ApiError) -> bool:
    """True if the server refused a cluster IP because it is taken or outside its range."""
    return "failed to allocate IP" in error.message or "provided IP" in error.message


def _is_port_taken(error: ApiError) -> bool:
    """True if the server refused a node port because it is taken or outside its range."""
    return "provided port" in error.message or "failed to allocate requested HealthCheck NodePort" in error.message


def _list_ports(service: Object) -> str:
    spec = service["spec"]
    numbers = [port.get("nodePort") for port in spec.get("ports") or []] + [spec.get("healthCheckNodePort")]
    return ",".join(str(number or "") for number in numbers) if any(numbers) else ""


def _is_refused(source: Object, copy: Object) -> bool:
    refused = annotations_of(copy).get(labels.REFUSED_PORTS)
    return refused is not None and refused == _list_ports(source)


ROWS = (ServiceRow,)
