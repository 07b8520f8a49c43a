"""What API servers refuse, in words."""

import re

import pytest

from nestor.clients.cli.exits import Code, Failure
from nestor.clients.ui.words import tell
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, Unreachable

DENIED = 'nestedappjobs.nestor.dev is forbidden: User "jane" cannot list resource "nestedappjobs" in API group "nestor.dev"'
POLICY = (
    "nestedappjobs.nestor.dev \"x\" is forbidden: ValidatingAdmissionPolicy 'gpu-hours' with binding 'b' denied request: "
    "no GPUs: now"
)
LISTED = 'users "oidc:joe" is forbidden: User "portal" cannot impersonate resource "users" in API group "" at the cluster scope'
HOOK = 'admission webhook "policy.example.com" denied the request: images must be signed'
QUOTA = 'nestedappjobs "x" is forbidden: exceeded quota: jobs, requested: count/nestedappjobs.nestor.dev=1, used: 3, limited: 3'


@pytest.mark.parametrize(
    ("error", "status", "parts"),
    [
        (
            Forbidden(403, "Forbidden", DENIED),
            403,
            ["You are 'jane', who may not list jobs.", "permission to list nestedappjobs"],
        ),
        (Forbidden(403, "Forbidden", DENIED + ' in the namespace "team-a"'), 403, ["may not list jobs in namespace 'team-a'"]),
        (Forbidden(403, "Forbidden", POLICY), 403, ["A policy", "No GPUs: now."]),
        (Forbidden(403, "Forbidden", HOOK), 403, ["Images must be signed."]),
        (Forbidden(403, "Forbidden", QUOTA), 403, ["quota is used up", "limited: 3"]),
        (Forbidden(403, "Forbidden", LISTED), 403, ["may not act in your name"]),
        (Forbidden(403, "Forbidden", "no"), 403, ["No."]),
        (ApiError(401, "Unauthorized", "Unauthorized"), 403, ["does not know you", "Log in again"]),
        (Unreachable("GET /x: connection refused"), 502, ["No connection", "GET /x"]),
        (NotFound(404, "NotFound", "x", {"name": "shop"}), 404, ["There is no 'shop'"]),
        (NotFound(404, "NotFound", "page not found"), 409, ["not installed"]),
        (Conflict(409, "AlreadyExists", 'jobs "x" already exists'), 409, ["name is taken", "another name"]),
        (Conflict(409, "Conflict", "the object has been modified"), 409, ["This was changed by someone else"]),
        (ApiError(500, "", "boom"), 502, ["boom"]),
        (TimeoutError(), 504, ["did not respond"]),
        (Failure("nothing to do", Code.USAGE), 400, ["Nothing to do."]),
    ],
)
def test_a_refusal_is_told_in_words(error: ApiError, status: int, parts: list[str]) -> None:
    told = tell(error)
    assert told.status == status
    said = f"{told.title} {told.message} {told.hint}"
    for part in parts:
        assert part in said


def test_faults_of_an_object_are_told_by_field() -> None:
    causes = [{"field": "spec.machine", "message": "too long"}, {"field": "spec", "message": "one of `app` and `appRef`"}]
    told = tell(Invalid(422, "Invalid", "NestedAppJob is invalid: …", {"causes": causes}))
    assert told.message == "spec.machine: too long; spec: one of `app` and `appRef`."
    whole = [{"message": "too many"}, {"message": "too many"}, "odd", {"field": "spec"}]
    assert tell(Invalid(422, "Invalid", "…", {"causes": whole})).message == "Too many."
    assert tell(Invalid(400, "BadRequest", "it is wrong")).message == "It is wrong."


@pytest.mark.parametrize("error", [ApiError(401, "Unauthorized", "no"), Unreachable("connection refused")])
def test_the_visitors_of_a_shared_page_are_not_told_to_mend_their_own_connection(error: ApiError) -> None:
    own, shared = tell(error), tell(error, is_shared=True)
    assert re.search("kubectl|VPN", own.hint)
    assert not re.search("kubectl|VPN|Your", f"{shared.title} {shared.message} {shared.hint}")
