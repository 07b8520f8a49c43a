"""A pod's status from an answer about its containers. Pure."""

from __future__ import annotations

import datetime

from nestor.objects import Object, status_of
from nestor.providers.interlink.containers import read_containers
from nestor.providers.interlink.reduce import reduce_containers
from nestor.providers.interlink.wire import PodAnswer
from nestor.translate.container_status import find_phase
from nestor.translate.status import is_terminal


def build_status(pod: Object, answer: PodAnswer, now: datetime.datetime, *, restarts: bool = False) -> Object:
    """The pod's status after this answer. `restarts`: its `restartPolicy` counts; otherwise, what has ended is over."""
    if is_terminal(pod):
        return status_of(pod)
    init = reduce_containers(pod, "initContainers", read_containers(answer.init_containers), now)
    main = reduce_containers(pod, "containers", read_containers(answer.containers), now)
    policy = (pod["spec"].get("restartPolicy") or "Always") if restarts else "Never"
    result: Object = {"phase": find_phase(pod["spec"], init, main, policy), "containerStatuses": main}
    return result | ({"initContainerStatuses": init} if init else {})
