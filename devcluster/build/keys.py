"""Names things by what they are made of: the same inputs give the same key, so what is there need not be built."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

LENGTH = 12


def key(*parts: str | bytes) -> str:
    """Short digest of all parts; each part's length counts, so that moving text from one to the next changes the key."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()[:LENGTH]


def file_key(root: Path, files: Iterable[Path], *parts: str) -> str:
    """Digest of files by their path below `root`, executable bit and content, and of further parts."""
    content: list[str | bytes] = list(parts)
    for path in sorted(files):
        executable = "x" if path.stat().st_mode & 0o100 else "-"
        content += [f"{executable}{path.relative_to(root)}", path.read_bytes()]
    return key(*content)


def files_below(root: Path, *patterns: str) -> list[Path]:
    """Files that match any of the patterns; caches and test files, which never reach a result, are left out."""
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return sorted(path for path in found if "__pycache__" not in path.parts and not path.name.endswith("_test.go"))
