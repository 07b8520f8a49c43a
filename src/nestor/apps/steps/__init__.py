"""What an AppDef's `templates` mean: the plan, its rules, and the state of a run. Pure: no I/O, no clock, no cluster.

Belongs here: reading `nested_kubernetes` and `parameters`, retry rules, rendering, transitions of a run. Does not: executing
anything (`nestor.apps.runner`).
"""

from nestor.apps.steps.appdef import build_plan, list_warnings
from nestor.apps.steps.parameters import Parameters
from nestor.apps.steps.parameters import check as check_parameters
from nestor.apps.steps.plan import Helm, Plan, PlanError, Remote, Step

__all__ = ["Helm", "Parameters", "Plan", "PlanError", "Remote", "Step", "build_plan", "check_parameters", "list_warnings"]
