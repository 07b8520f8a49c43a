"""Services: each nested Service with a cluster IP has a host Service with the same one.

Both clusters allocate addresses from the same range without knowing of each other. A new Service therefore gets its address from
the host, before it exists (`syncer/cluster/addresses.py`). One for which that failed keeps the nested cluster's own choice; if
the host has given that address away, its owner is told to create the Service again.
"""

import datetime
import time

from nestor.api import labels, times
from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object, annotations_of, spec_of, status_of
from nestor.kube import ApiError, Forbidden, Invalid, RetryLater, kinds
from nestor.kube.informer import Key
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, annotation, exact, fixed, optional, value
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
        value("spec.type"),
        *(value(f"spec.{name}") for name in _OWNED),
        *(optional(f"spec.{name}") for name in (*translate.FAMILY_FIELDS, "clusterIPs")),
        value("spec.ports"),
        exact("spec.selector"),
        fixed("spec.clusterIP"),
    )

    def set_up(self) -> None:
        self._released: dict[str, float] = {}

    @property
    def _allowed(self) -> AllowedServices:
        return self.policy.allowed_services

    def is_wanted(self, key: Key, source: Object) -> bool:
        """Unless it exists only in the nested cluster and its DNS."""
        return translate.is_synced(source)

    def find_ignored(self, source: Object) -> list[str]:
        return translate.find_ignored(source, self._allowed)

    def count_parts(self, copy: Object) -> int:
        return len(spec_of(copy).get("ports") or ())

    def build(self, source: Object) -> Object:
        return translate.build_service(source, self.context.target, source["spec"].get("clusterIP"), self._allowed)

    def build_ahead(self, source: Object, error: Invalid | None = None) -> Object:
        """With a note when it goes, should the nested Service never come. What it asks for and is taken, the host chooses."""
        desired = self.build(source)
        if error is not None:
            if not _is_taken(error) and not _is_port_taken(error):
                raise error
            address = source["spec"].get("clusterIP")
            if _is_taken(error):
                self._await_release(source)
                address = None
            desired = translate.build_service(source, self.context.target, address, self._allowed, own_ports=False)
        desired["metadata"]["annotations"][labels.RESERVED_UNTIL] = times.write(times.now() + _RESERVATION)
        return desired

    def find_reprieve(self, copy: Object) -> float:
        """A Service that is being created may take a minute: other webhooks are asked after ours."""
        until = annotations_of(copy).get(labels.RESERVED_UNTIL)
        return max(0.0, min(-times.seconds_since(until), _RESERVATION.total_seconds())) if until else 0.0

    def explain(self, source: Object, error: Invalid) -> ApiError:
        """A new Service gets what is free; one that is there has its address and node ports from the nested cluster."""
        if _is_taken(error):
            self._await_release(source)
            what = f"the host has given its address {source['spec'].get('clusterIP')} to another Service"
            return Forbidden(403, "Forbidden", f"{what}; delete this Service and create it again")
        if _is_port_taken(error):
            what = f"the host has given a node port of it to another Service, or does not have such a one ({error.message})"
            return Forbidden(403, "Forbidden", f"{what}; choose another one, or delete this Service and create it again")
        return error

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


def _is_taken(error: ApiError) -> bool:
    """True if the server refused a cluster IP because it is taken or outside its range."""
    return "failed to allocate IP" in error.message or "provided IP" in error.message


def _is_port_taken(error: ApiError) -> bool:
    """True if the server refused a node port because it is taken or outside its range."""
    return "provided port" in error.message or "failed to allocate requested HealthCheck NodePort" in error.message


ROWS = (ServiceRow,)
