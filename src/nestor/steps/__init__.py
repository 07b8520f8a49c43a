"""What an AppDef's `templates` mean: the plan, its rules, and the state of a run. Pure: no I/O, no clock, no cluster.

Belongs here: reading `nested_kubernetes` and `parameters`, retry rules, rendering, transitions of a run. Does not: executing
anything (`nestor.runner`).
"""

from nestor.steps.appdef import build_plan, list_warnings
from nestor.steps.parameters import Parameters
from nestor.steps.parameters import check as check_parameters
from nestor.steps.plan import Helm, Plan, PlanError, Remote, Step
from nestor.steps.state import Run, StepRun

__all__ = [
    "Helm",
    "Parameters",
    "Plan",
    "PlanError",
    "Remote",
    "Run",
    "Step",
    "StepRun",
    "build_plan",
    "check_parameters",
    "list_warnings",
]
