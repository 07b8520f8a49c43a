"""What the API server refuses, in words for people who do not know Kubernetes. Pure."""

import re
from dataclasses import dataclass

from nestor.clients.cli.exits import Code, Failure, explain
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, Unreachable

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>[a-z:-]+) resource "(?P<what>[^"]*)" in API group "[^"]*"'
    r'(?: in the namespace "(?P<space>[^"]*)")?'
)
_ADMISSION = (
    (r"ValidatingAdmissionPolicy '[^']*'[^:]*denied request: (.*)", "A policy of the cluster refuses this", ""),
    (r'admission webhook "[^"]*" denied the request:? ?(.*)', "The cluster refuses this", ""),
    (r"exceeded quota: (.*)", "The namespace's quota is used up", "Delete what is no longer needed, or ask for more."),
)
"""What admission says; a title; a hint."""
_KINDS = {
    "nestedappjobs": "jobs",
    "nestedapps": "the catalog's applications",
    "nestedclasses": "classes",
    "pods": "pods",
    "pods/log": "the output of pods",
    "secrets": "Secrets",
    "namespaces": "namespaces",
}
_STATUS = {Code.NOT_FOUND: 404, Code.NO_ACCESS: 403, Code.USAGE: 400, Code.TIMED_OUT: 504}


@dataclass(frozen=True)
class Told:
    """An error as a page shows it."""

    title: str
    message: str
    hint: str = ""
    status: int = 500


def tell(error: ApiError | Failure | TimeoutError, *, is_shared: bool = False) -> Told:
    """Any error of a request that a page made. `is_shared`: the page is everybody's, who have no part in its connection."""
    if isinstance(error, TimeoutError):
        return Told("No answer", "The cluster did not respond in time.", "Try again.", 504)
    if isinstance(error, Failure):
        return Told("This did not work", _sentence(error.message), status=_STATUS.get(error.code, 409))
    if isinstance(error, Unreachable):
        hint = "Try again in a moment." if is_shared else "Is the network, or the VPN, up?"
        return Told("No connection to the cluster", _sentence(error.message), hint, 502)
    if error.status == 401:
        return _tell_unknown(is_shared=is_shared)
    if isinstance(error, Forbidden):
        return _tell_forbidden(error)
    if isinstance(error, NotFound) and error.details.get("name"):
        return Told("Not found", f"There is no '{error.details['name']}' here, or no longer.", status=404)
    if isinstance(error, Conflict) and error.already_exists:
        return Told("The name is taken", _sentence(error.message), "Choose another name.", 409)
    if isinstance(error, Conflict):
        return Told("This was changed by someone else", "It has changed in the meantime.", "Look at it again, then repeat.", 409)
    if isinstance(error, Invalid):
        return Told("The cluster refused it", _sentence(_list_causes(error)), status=422)
    failure = explain(error)
    return Told("The cluster refused it", _sentence(failure.message), status=502 if error.is_transient else 409)


def _tell_unknown(*, is_shared: bool) -> Told:
    if is_shared:
        said = "Its own credentials, not yours, are not accepted."
        return Told("The cluster does not know this page", said, "Report this to the administrator of the page.", 502)
    return Told("The cluster does not know you", "Your credentials are not accepted.", "Log in again as you do for kubectl.", 403)


def _tell_forbidden(error: Forbidden) -> Told:
    found = _FORBIDDEN.search(error.message)
    if found and found["verb"].startswith("impersonate"):
        said = "The page may not act in your name, or not for this."
        return Told("This page is closed to you", said, "Ask a cluster administrator to add you to its users.", 403)
    if found:
        what = _KINDS.get(found["what"], found["what"])
        where = f" in namespace '{found['space']}'" if found["space"] else ""
        return Told(
            "You may not do this",
            f"You are '{found['user']}', who may not {found['verb']} {what}{where}.",
            f"Ask a cluster administrator for permission to {found['verb']} {found['what']}{where}.",
            403,
        )
    for form, title, hint in _ADMISSION:
        if found := re.search(form, error.message, re.DOTALL):
            return Told(title, _sentence(found[1]), hint, 403)
    return Told("The cluster refuses this", _sentence(error.message), status=403)


def _list_causes(error: Invalid) -> str:
    """The faults by field, as the API server lists them."""
    causes = [item for item in error.details.get("causes") or () if isinstance(item, dict) and item.get("message")]
    if not causes:
        return error.message
    return "; ".join(
        dict.fromkeys(f"{item.get('field')}: {item['message']}" if item.get("field") else item["message"] for item in causes)
    )


def _sentence(text: str) -> str:
    text = text.strip()
    is_word = re.match(r"[a-z]+(\s|,|$)", text) is not None
    return (
        (text[:1].upper() + text[1:] if is_word else text) + ("" if text.endswith((".", "!", "?", "…")) else ".")
        if text
        else "No reason was given."
    )
