"""AppDefs' Kubernetes parts, as tests write them."""

import base64
from typing import Any

import pytest

from nestor.apps import steps

Object = dict[str, Any]


def template(**changes: Any) -> Object:
    return {"name": "install", "type": "kubectl", "path": "web.yml", **changes}


def script(text: str = "#!/bin/sh\ntrue\n", **changes: Any) -> Object:
    return {"name": "run", "type": "custom", "cmd": encode(text), **changes}


def chart(**changes: Any) -> Object:
    """A step of type `helm` with a chart of the image, unless `path` is given as None."""
    return {"name": "release", "type": "helm", "path": "charts/web", **changes}


def nested(*templates: Any, **settings: Any) -> Object:
    """`nested_kubernetes` of these steps and `templates_settings`."""
    return {"templates": list(templates) or [template()], "templates_settings": settings}


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def build(*templates: Any, base: str = "base", **more: Any) -> steps.Plan:
    return steps.build_plan(nested(*templates), base, **more)


def read(step: Any, **more: Any) -> steps.Step:
    [found] = build(step, **more).steps
    return found


def faults(nested_kubernetes: Object, **more: Any) -> list[str]:
    with pytest.raises(steps.PlanError) as refused:
        steps.build_plan(nested_kubernetes, "base", **more)
    return refused.value.messages


def faults_of(step: Any, **more: Any) -> list[str]:
    return faults(nested(step), **more)
