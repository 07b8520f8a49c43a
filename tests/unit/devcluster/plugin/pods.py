"""Pods to give to the plugin."""

from typing import Any

from devcluster.plugin import record
from devcluster.plugin.record import Container, Pod, Run
from nestor.api.objects import Object

IMAGE = "docker.io/library/busybox:1.35"


def pod(**spec: Any) -> Object:
    """A pod with one container, `main`, unless the spec says otherwise."""
    containers = [{"name": "main", "image": IMAGE}]
    return {"metadata": {"name": "one", "namespace": "team", "uid": "uid-1"}, "spec": {"containers": containers, **spec}}


def container(**fields: Any) -> Object:
    """A pod whose container `main` has these fields."""
    return pod(containers=[{"name": "main", "image": IMAGE, **fields}])


def known(*containers: Container, **spec: Any) -> Pod:
    """What the plugin knows of a pod whose containers are as given."""
    found = record.new(pod(**spec), {}, "job-1")
    found.is_admitted = True
    found.containers = list(containers)
    return found


def ended(name: str, code: int = 0, *, is_init: bool = False, **fields: Any) -> Container:
    """A container that has run once, from 10:00:00 to 10:00:01."""
    times = {"started": "2026-01-01T10:00:00Z", "finished": "2026-01-01T10:00:01Z"}
    return Container(name, is_init, [Run("id-1", 7, code=code, reason="Error" if code else "Completed", **times)], **fields)


def running(name: str, *, is_init: bool = False, **fields: Any) -> Container:
    """A container that runs since 10:00:00."""
    return Container(name, is_init, [Run("id-1", 7, started="2026-01-01T10:00:00Z")], **fields)
