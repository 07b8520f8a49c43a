"""When a job falls asleep and wakes, and what leads to the activator meanwhile. Pure."""

import datetime
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import urlsplit

from nestor.api import conditions, labels, times
from nestor.api.contracts.activator import PORT
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, annotations_of, conditions_of, labels_of, spec_of, status_of
from nestor.cluster.exposure.exposed import has_ready_endpoint
from nestor.cluster.exposure.ingress import find_port, speaks_https


def find_obstacle(
    job: Object, policy: NestedClassSpec, services: Collection[tuple[Object | None, Object]], activators: Iterable[Object]
) -> str | None:
    """Why a job that is ready does not sleep. `services`: for each target with a URL its Service in the job's namespace, and the
    target; `activators`: the EndpointSlices of the activator.
    """
    if policy.queue.kueue != "Ignore" and labels.KUEUE_QUEUE in labels_of(job):
        return "Kueue says when it runs"
    if not services:
        return "it has no URL, so no request could wake it"
    if any(speaks_https(service, target["servicePort"]) for service, target in services):
        return "one of its targets speaks HTTPS itself, which the activator does not"
    return None if has_ready_endpoint(activators) else "the activator has no ready pod"


def find_rest(job: Object, cluster: Object | None, limit: int, now: datetime.datetime) -> float | None:
    """In how many seconds a job falls asleep if nobody uses it meanwhile. None: it works, or is not ready, or at its end."""
    ready, idle = conditions.find(conditions_of(job), conditions.READY) or {}, status_of(cluster).get("idleSince")
    if ready.get("status") != "True" or status_of(job).get("completionTime") or idle is None:
        return None
    return max(0.0, limit - min(times.seconds_since(since, now) for since in (idle, ready["lastTransitionTime"])))


def is_awake(job: Object, *, is_called: bool) -> bool:
    """Whether a job is not asleep, or has been woken. `is_called`: somebody asks for one of its URLs."""
    asleep = status_of(job).get("asleep")
    return asleep is None or is_called or annotations_of(job).get(labels.WAKE, "") != asleep.get("wake", "")


def is_up(job: Object, *, is_awake: bool) -> bool:
    """Whether nobody has to answer for it any more: its pods do, or nobody shall."""
    if spec_of(job).get("suspend") or status_of(job).get("completionTime"):
        return True
    return is_awake and conditions.is_true(conditions_of(job), conditions.READY)


def list_targets(job: Object) -> list[Object]:
    return [target for target in status_of(job).get("targets") or () if target.get("url")]


def list_hosts(job: Object) -> list[str]:
    return [urlsplit(target["url"]).hostname or "" for target in list_targets(job)]


def build_slices(service: Object, numbers: Iterable[int], activators: Iterable[Object]) -> Iterator[Object]:
    """EndpointSlices that lead the ports with these numbers of a Service to the activator. `activators`: its own slices."""
    meta, ports = service["metadata"], spec_of(service).get("ports") or []
    found = [port for number in sorted(set(numbers)) if (port := find_port(ports, number))]
    endpoints: dict[str, list[Object]] = {}
    for item in activators:
        kept = ({key: each[key] for key in ("addresses", "conditions") if key in each} for each in item.get("endpoints") or ())
        endpoints.setdefault(item["addressType"], []).extend(kept)
    own = {
        "kubernetes.io/service-name": meta["name"],
        "endpointslice.kubernetes.io/managed-by": labels.GROUP,
        labels.PURPOSE: PURPOSE,
    }
    for family, addresses in endpoints.items():
        yield {
            "metadata": {"name": f"{meta['name']}-asleep-{family.lower()}", "namespace": meta["namespace"], "labels": own},
            "addressType": family,
            "ports": [{"name": port.get("name") or "", "port": PORT, "protocol": "TCP"} for port in found],
            "endpoints": addresses,
        }


PURPOSE = "activator"
"""Of these slices."""
