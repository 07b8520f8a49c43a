"""Which template paths an AppDef may name: relative ones that stay below the templates folder."""

from __future__ import annotations

from nestor.api import faults

PATH_LIMIT = 1024


def find_fault(path: str) -> str | None:
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
