"""The fields that pods, Services, claims and network policies have in each version of Kubernetes, from its own OpenAPI."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "fields.txt"
_VERSIONS = "# versions:"


@dataclass(frozen=True)
class Field:
    """A field of one type, such as `PodSpec.affinity`."""

    owner: str
    name: str
    type: str
    """The type that describes its content, or that of its items; empty for plain values."""
    versions: tuple[str, ...]
    """As major.minor. Empty: all versions of the file."""

    def __str__(self) -> str:
        return f"{self.owner}.{self.name} {self.type or '-'} {','.join(self.versions)}".rstrip()


def read_fields() -> list[Field]:
    """All fields of the file."""
    return [_parse(line) for line in FILE.read_text().splitlines() if line and not line.startswith("#")]


def read_versions() -> list[str]:
    """The versions that the file covers, as major.minor."""
    (line,) = [line for line in FILE.read_text().splitlines() if line.startswith(_VERSIONS)]
    return [".".join(item.split(".")[:2]) for item in line.removeprefix(_VERSIONS).split()]


def write_fields(fields: list[Field], patch_levels: list[str]) -> None:
    """Write the file. `patch_levels`: the versions that were read, such as `v1.36.3`."""
    head = "# Written by `python -m tests.openapi`. Type, field, type of its content, versions that have it if not all do."
    lines = [head, f"{_VERSIONS} {' '.join(patch_levels)}", *sorted(map(str, fields))]
    FILE.write_text("\n".join(lines) + "\n")


def _parse(line: str) -> Field:
    path, kind, *versions = line.split(" ")
    owner, name = path.split(".")
    return Field(owner, name, "" if kind == "-" else kind, tuple(versions[0].split(",")) if versions else ())
