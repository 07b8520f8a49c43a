"""What an AppDef may name: template paths, URLs, and scripts in base64. The runner checks addresses, because a name does not tell
where it leads.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from nestor.api import faults
from nestor.apps.steps.plan import Remote

PATH_LIMIT = 1024
URL_LIMIT = 2048
WEB_SCHEMES = ("https", "http")
_LABEL_FORM = re.compile(r"[0-9a-z_]([-0-9a-z_]{0,61}[0-9a-z_])?", re.ASCII)
SCRIPT_LIMIT = 256 * 1024
"""Bytes of one decoded script. Larger ones belong into the templates folder."""
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_BASE64_FORM = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)


def find_path_fault(path: str) -> str | None:
    """Why `path` is refused, as the end of a sentence that starts with the field's name; None when it is fine.

    `..` is refused anywhere, even where it would stay inside: through a link in the image it need not.
    """
    if not path.strip():
        return "must not be empty: the file's path relative to /templates of the image"
    if len(path) > PATH_LIMIT:
        return f"must not be longer than {PATH_LIMIT} characters"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return f"{faults.show(path)} must not contain control characters"
    if "://" in path:
        return f"{faults.show(path)} must be a file's path relative to /templates of the image; a URL needs `format: url`"
    if path.startswith("/"):
        return f"{faults.show(path)} must be relative to /templates of the image, without a leading '/'"
    if ".." in path.split("/"):
        return f"{faults.show(path)} must not contain '..': it must stay inside /templates of the image"
    return None


def find_url_fault(url: str, remote: Remote, *, schemes: Sequence[str] = WEB_SCHEMES) -> str | None:
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


class ScriptError(ValueError):
    """Why a script is refused, as the end of a sentence that starts with the field's name."""


def normalize_script(cmd: str) -> str:
    """The base64 text without the line breaks that `base64` makes without `-w 0`. Raises `ScriptError`."""
    text = _BLANKS.sub("", cmd)
    if not _BASE64_FORM.fullmatch(text) or len(text) % 4:
        raise ScriptError("must be the script in base64, as `base64 -w 0 < script.sh` prints it")
    _check_script(decode_script(text))
    return text


def decode_script(cmd: str) -> bytes:
    """The script. Raises `ScriptError`."""
    try:
        return base64.b64decode(cmd, validate=True)
    except binascii.Error as error:
        raise ScriptError("must be the script in base64, as `base64 -w 0 < script.sh` prints it") from error


def _check_script(script: bytes) -> None:
    if not script.strip(b" \t\r\n\f\v\0"):
        raise ScriptError("must not be an empty script")
    if len(script) > SCRIPT_LIMIT:
        raise ScriptError(f"must be a script of at most {SCRIPT_LIMIT // 1024} KiB: put larger ones into /templates of the image")
    if script.startswith(b"\xef\xbb\xbf"):
        raise ScriptError("must not be a script with a byte order mark, which hides its `#!` line: save it as UTF-8 without one")
    first, _, rest = script.partition(b"\n")
    if first.endswith(b"\r") and rest:
        # The kernel would look for a program named `bash\r`, and say that the script does not exist; sh, for one named `ls\r`.
        raise ScriptError("must not be a script with Windows line endings (CRLF), which become part of names: use `dos2unix`")
