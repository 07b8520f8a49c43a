"""When a job falls asleep and wakes, and what leads to the activator meanwhile. Pure."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from nestor.api import conditions, labels, times
from nestor.api.contracts.activator import CALLED, PORT
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, annotations_of, conditions_of, spec_of, status_of
from nestor.cluster.exposure.exposed import has_ready_endpoint
from nestor.cluster.exposure.ingress import find_port, speaks_https
from nestor.operator.admission.checks import is_of_kueue
from nestor.operator.lifecycle.record import is_rerun_due

PURPOSE = "activator"
"""Of EndpointSlices that lead to it."""
MOST, SHARE = 2000, 200
"""Hosts that are asleep at a time, in all and of the jobs of one namespace: one ConfigMap has them all."""


def find_obstacle(
    job: Object,
    policy: NestedClassSpec,
    services: Collection[tuple[Object | None, Object]],
    activators: Iterable[Object],
    hosts: Mapping[str, str],
) -> str | None:
    """Why a job that is ready does not sleep. `services`: for each target with a URL its Service in the job's namespace, and the
    target; `activators`: the EndpointSlices of the activator; `hosts`: those that are asleep.
    """
    if is_of_kueue(job, policy):
        return "Kueue says when it runs"
    if not services:
        return "it has no URL, so no request could wake it"
    if any(speaks_https(service, target["servicePort"]) for service, target in services):
        return "one of its targets speaks HTTPS itself, which the activator does not"
    near = [said for said in hosts.values() if said.startswith(f"{job['metadata']['namespace']}/")]
    if len(hosts) + len(services) > MOST or len(near) + len(services) > SHARE:
        return "too many URLs are asleep"
    return None if has_ready_endpoint(activators) else "the activator has no ready pod"


def find_rest(job: Object, cluster: Object | None, limit: int, now: datetime.datetime) -> float | None:
    """In how many seconds a job falls asleep if nobody uses it meanwhile. None: it works, or is not ready, or is to stop or begin
    anew.
    """
    ready, idle = conditions.find(conditions_of(job), conditions.READY) or {}, status_of(cluster).get("idleSince")
    if ready.get("status") != "True" or is_over(job) or is_rerun_due(job) or idle is None:
        return None
    awake = (status_of(job).get("asleep") or {}).get("since") or idle
    return max(0.0, limit - min(times.seconds_since(since, now) for since in (idle, awake, ready["lastTransitionTime"])))


def is_over(job: Object) -> bool:
    return bool(spec_of(job).get("suspend") or status_of(job).get("completionTime"))


def decide(job: Object, *, is_due: bool, is_called: bool, is_ending: bool, now: str) -> Object | None:
    """What the status is to say of a job's sleep; None: it never slept. `is_called`: somebody asks for one of its URLs;
    `is_ending`: pods of it still end, so that it is not as ready as it seems.
    """
    said: Object | None = status_of(job).get("asleep")
    wake, generation = annotations_of(job).get(labels.WAKE, ""), job["metadata"].get("generation", 0)
    if said is None or said["state"] == "Awake":
        return {"state": "Asleep", "since": now, "generation": generation, "wake": wake} if is_due else said
    if said["state"] == "Asleep":
        is_asked = is_called or is_rerun_due(job) or wake != said.get("wake", "")
        is_woken = is_asked or is_over(job) or generation != said.get("generation", 0)
        return said | {"state": "Waking", "since": now} if is_woken else said
    is_up = conditions.is_true(conditions_of(job), conditions.READY) and not is_ending
    return said | {"state": "Awake", "since": now} if is_up or is_over(job) else said


def list_targets(job: Object) -> list[Object]:
    return [target for target in status_of(job).get("targets") or () if target.get("url")]


def list_missing(job: Object, hosts: Mapping[str, str]) -> dict[str, str]:
    """What `hosts` are to say of the job, and do not."""
    own = key_of(job)
    wanted = [urlsplit(target["url"]).hostname or "" for target in list_targets(job)]
    return {host: own for host in wanted if hosts.get(host, "").removesuffix(CALLED) != own}


def key_of(job: Object) -> str:
    return f"{job['metadata']['namespace']}/{job['metadata']['name']}"


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
