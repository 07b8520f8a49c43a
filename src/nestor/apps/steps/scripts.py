"""The script of a `custom` step: base64 in the AppDef, a file with its own `#!` line in the runner."""

from __future__ import annotations

import base64
import binascii
import re

SCRIPT_LIMIT = 256 * 1024
"""Bytes of one decoded script. Larger ones belong into the templates folder."""
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_FORM = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)


class ScriptError(ValueError):
    """Why a script is refused, as the end of a sentence that starts with the field's name."""


def normalize(cmd: str) -> str:
    """The base64 text without the line breaks that `base64` makes without `-w 0`. Raises `ScriptError`."""
    text = _BLANKS.sub("", cmd)
    if not _FORM.fullmatch(text) or len(text) % 4:
        raise ScriptError("must be the script in base64, as `base64 -w 0 < script.sh` prints it")
    if len(text) // 4 * 3 > SCRIPT_LIMIT + 2:
        raise ScriptError(f"must be a script of at most {SCRIPT_LIMIT // 1024} KiB: put larger ones into /templates of the image")
    _check(decode(text))
    return text


def decode(cmd: str) -> bytes:
    """The script. Raises `ScriptError`."""
    try:
        return base64.b64decode(cmd, validate=True)
    except binascii.Error as error:
        raise ScriptError("must be the script in base64, as `base64 -w 0 < script.sh` prints it") from error


def _check(script: bytes) -> None:
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
