"""Processor time for the start of a nested cluster: its server's pod asks for more until the job's steps are applied.

So a node's scheduler starts as many clusters at a time as the node can, and a node is not full of clusters that do nothing.
"""

from nestor.api.names import SERVER_CONTAINER, SYNCER_CONTAINER
from nestor.api.objects import Object, spec_of
from nestor.api.quantities import find_larger, find_smaller

_START = {SERVER_CONTAINER: "400m", SYNCER_CONTAINER: "50m"}


def boost(container: Object) -> Object:
    """One of the server's containers as it starts: with a request of CPU that is larger, if it has one, up to its limit."""
    resources = container["resources"]
    asked = resources["requests"]
    if container["name"] not in _START or "cpu" not in asked:
        return container
    most = find_smaller(_START[container["name"]], resources["limits"].get("cpu", _START[container["name"]]))
    return container | {"resources": resources | {"requests": asked | {"cpu": find_larger(asked["cpu"], most)}}}


def give_back(pod: Object, containers: list[Object]) -> Object | None:
    """The patch, a strategic one for `resize`, by which a server's pod asks for no more CPU than its `containers` say; None if it
    asks for no more.
    """
    wanted = {item["name"]: item["resources"]["requests"].get("cpu") for item in containers}
    lower = [
        {"name": item["name"], "resources": {"requests": {"cpu": cpu}}}
        for item in spec_of(pod).get("containers") or ()
        if (cpu := wanted.get(item["name"])) and find_larger(cpu, item["resources"]["requests"].get("cpu", "0")) != cpu
    ]
    return {"spec": {"containers": lower}} if lower else None
