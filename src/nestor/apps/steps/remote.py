"""Which URLs an AppDef may name. The runner checks addresses, because a name does not tell where it leads."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from nestor.api import faults
from nestor.apps.steps.plan import Remote

URL_LIMIT = 2048
WEB_SCHEMES = ("https", "http")
_LABEL_FORM = re.compile(r"[0-9a-z_]([-0-9a-z_]{0,61}[0-9a-z_])?", re.ASCII)


def find_fault(url: str, remote: Remote, *, schemes: Sequence[str] = WEB_SCHEMES) -> str | None:
    """Why `url` is refused, as the end of a sentence that starts with the field's name; None when it is fine."""
    if len(url) > URL_LIMIT:
        return f"must not be longer than {URL_LIMIT} characters"
    # `urlsplit` silently drops some of these, so its result would differ from what a client requests.
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return f"{faults.show(url)} must be a URL of ASCII characters without spaces; encode all others as %XX"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return f"{faults.show(url)} must be a URL such as 'https://example.com/install.yaml'"
    if parts.scheme not in schemes:
        return f"{faults.show(url)} must be a URL that starts with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    if "@" in parts.netloc:
        return "must not contain a user name or password: plans are not kept secret"
    if not host or port == 0 or not _is_host(host):
        return f"{faults.show(url)} must name a host"
    return _check_policy(host, remote)


def _is_host(host: str) -> bool:
    """Whether it is a name that DNS can hold, or an address."""
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host).scope_id is None
        except ValueError:
            return False
    return len(host) <= 253 and all(_LABEL_FORM.fullmatch(label) for label in host.removesuffix(".").split("."))


def _check_policy(host: str, remote: Remote) -> str | None:
    if not remote.enabled:
        return "may not be remote: the job's class does not allow it (`templateHosts`)"
    if not is_allowed(host, remote):
        known = ", ".join(f"'{pattern}'" for pattern in remote.allowed_hosts)
        return f"must be at a host that the job's class allows (`templateHosts`: {known}), not {faults.show(host)}"
    return None


def is_allowed(host: str, remote: Remote) -> bool:
    """Whether the class allows that host: by its name, or as one below a `*.example.com`. Also for redirects."""
    if not remote.allowed_hosts:
        return True
    name = host.lower().rstrip(".")
    return any(
        name.endswith(pattern[1:]) and len(name) >= len(pattern) if pattern.startswith("*.") else name == pattern
        for pattern in (item.lower().rstrip(".") for item in remote.allowed_hosts)
    )
