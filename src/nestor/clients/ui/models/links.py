"""The addresses of a job: its own page's, and that of its application. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from nestor.api import conditions
from nestor.api.objects import Object, is_terminating
from nestor.clients.cli.view.facts import condition, url_of


def job_path(namespace: str, name: str, *more: str) -> str:
    """The path of a job's page, or of one below it."""
    return "/".join(["/jobs", *(quote(part, safe="") for part in (namespace, name, *more))])


def open_url(job: Object) -> str:
    """The URL of its first target once that answers, if it is one that a browser may be sent to."""
    exposed = condition(job, conditions.EXPOSED) or {}
    is_up = exposed.get("status") == "True" and not is_terminating(job)
    return safe_url(url_of(job)) if is_up else ""


def safe_url(url: Any) -> str:
    """The URL if it is one of the web; empty otherwise: `javascript:` is one, too."""
    try:
        found = urlsplit(str(url or ""))
    except ValueError:
        return ""
    return str(url) if found.scheme in ("http", "https") and found.hostname else ""
