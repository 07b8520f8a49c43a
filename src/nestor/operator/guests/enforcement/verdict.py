"""What is known of the host's enforcement of network policies, and what classes and jobs say about it. Pure."""

from dataclasses import dataclass

from nestor.api import conditions, pod_status
from nestor.api.conditions import Condition
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, conditions_of, status_of
from nestor.operator.admission.identity import Denial
from nestor.operator.guests.enforcement.probe import Exit

REMEDY = "install a network plugin that enforces NetworkPolicies"
MEANS = (
    "pods of jobs can reach everything that the nodes can reach, and can be reached from there: other jobs, the host's API "
    "server, the cloud's metadata"
)
_OPEN = {
    Exit.NEITHER: "this cluster does not enforce NetworkPolicies",
    Exit.NO_EGRESS: "this cluster does not enforce NetworkPolicies for what pods connect to",
    Exit.NO_INGRESS: "this cluster does not enforce NetworkPolicies for who connects to pods",
}


@dataclass(frozen=True)
class Verdict:
    code: Exit | None
    """None: it did not come to an end."""
    problem: str = ""

    @property
    def is_enforced(self) -> bool:
        return self.code == Exit.ENFORCED


def read_verdict(pod: Object) -> Verdict | None:
    """What the caller's pod found out; None while it is still at it."""
    if not pod_status.is_terminal(pod):
        return None
    code, _, reason = pod_status.find_end(pod)
    if code == Exit.UNREACHED:
        return Verdict(code=None, problem="its pods do not even reach each other where policies allow it")
    if code in list(Exit):
        return Verdict(code=Exit(code))
    return Verdict(code=None, problem=f"its pod ended without a result: {reason or status_of(pod)['phase']}")


def decide_condition(verdict: Verdict, spec: NestedClassSpec) -> Condition:
    """`NetworkEnforced` of a class."""
    if verdict.is_enforced:
        said = "NetworkPolicies are enforced: a probe connected where they allow it, and nowhere else"
        return Condition(conditions.NETWORK_ENFORCED, "True", conditions.POLICIES_ENFORCED, said)
    if verdict.code is None:
        said = f"it is not known whether this cluster enforces NetworkPolicies: {verdict.problem}"
        return Condition(conditions.NETWORK_ENFORCED, "Unknown", conditions.NETWORK_NOT_PROBED, said)
    said = f"{_OPEN[verdict.code]}: {MEANS}"
    if spec.network.unenforced == "Accept":
        accepted = f"{said}; the class accepts it (`network.unenforced: Accept`)"
        return Condition(conditions.NETWORK_ENFORCED, "False", conditions.UNENFORCED_ACCEPTED, accepted)
    return Condition(conditions.NETWORK_ENFORCED, "False", conditions.NETWORK_NOT_ENFORCED, f"{said}; {REMEDY}")


def explain_open(item: Object | None, spec: NestedClassSpec, name: str) -> str:
    """What an admitted job says about its class's condition; empty if there is nothing to say."""
    found = conditions.find(conditions_of(item), conditions.NETWORK_ENFORCED) or {}
    if spec.network.unenforced == "Accept" or found.get("status") != "False":
        return ""
    said = str(found.get("message", "")).partition(":")[0]
    return f"{said}: {MEANS}; an admin can {REMEDY}, or accept it in class '{name}' (`network.unenforced: Accept`)"


def find_denial(item: Object | None, spec: NestedClassSpec, name: str) -> Denial | None:
    """Why a new job is not admitted if its class wants a host that is known to enforce policies."""
    found = conditions.find(conditions_of(item), conditions.NETWORK_ENFORCED) or {}
    if spec.network.unenforced != "Refuse" or found.get("status") == "True":
        return None
    said = str(found.get("message") or "it is not known yet whether this cluster enforces NetworkPolicies")
    message = f"class '{name}' takes no jobs unless NetworkPolicies are enforced (`network.unenforced: Refuse`): {said}"
    if found.get("status") == "False":
        return Denial(conditions.NETWORK_NOT_ENFORCED, message)
    return Denial(conditions.NETWORK_NOT_PROBED, message, status="Unknown")
