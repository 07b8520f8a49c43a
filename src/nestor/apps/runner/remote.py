"""Which URLs a step may fetch: the rules of the job's class, and those that hold for all. Pure."""

from __future__ import annotations

import ipaddress

from yarl import URL

from nestor.apps.runner.errors import StepError
from nestor.apps.steps import remote
from nestor.apps.steps.plan import Remote

MAX_REDIRECTS = 5


def parse(text: str) -> URL:
    """Raises `StepError` for what is no URL."""
    try:
        url = URL(text)
        host, port = url.host, url.port
    except ValueError as error:
        raise StepError(f"'{redact(text)}' is not a URL: {error}") from error
    if url.scheme not in ("http", "https") or not host or not port:
        raise StepError(f"'{redact(url)}' must begin with https:// or http://, and name a host")
    return url


def check_host(host: str, rules: Remote, what: str) -> None:
    """Raises `StepError` when the class does not allow to fetch `what` from this host."""
    if not rules.enabled:
        raise StepError(f"'{what}' is refused: the job's class does not allow steps to fetch anything from remote hosts")
    if not remote.is_allowed(host, rules):
        allowed = ", ".join(rules.allowed_hosts)
        raise StepError(f"'{what}' is refused: the job's class does not allow the host '{host}', allowed: {allowed}")


def redirect(url: URL, location: str) -> URL:
    """Where a redirect leads. Raises `StepError`."""
    try:
        target = url.join(URL(location))
    except ValueError as error:
        raise StepError(f"'{redact(url)}' redirects to something that is not a URL: {error}") from error
    target = parse(str(target))
    if url.scheme == "https" and target.scheme == "http":
        raise StepError(f"'{redact(url)}' is refused: it redirects from https to http ('{redact(target)}')")
    return target


def is_address(host: str) -> bool:
    """Whether a URL's host is an address and not a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def redact(url: URL | str) -> str:
    """The URL without what may be secret: user, password, query. For logs and messages."""
    try:
        url = URL(url) if isinstance(url, str) else url
        return str(url.with_user(None).with_query(None).with_fragment(None)) if url.host else str(url.with_query(None))
    except ValueError:
        # Half a character can be neither shown nor recorded.
        return str(url).partition("?")[0].encode(errors="backslashreplace").decode()
