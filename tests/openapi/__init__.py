"""The fields that pods, Services, claims and network policies have in each version of Kubernetes, from its own OpenAPI."""

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
        return self.name + (self.type and f":{self.type}") + ("@" * bool(self.versions) + ",".join(self.versions))


def read_fields() -> list[Field]:
    """All fields of the file."""
    rows = [line.split(" ") for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    return [_parse(owner, text) for owner, *texts in rows for text in texts]


def read_versions() -> list[str]:
    """The versions that the file covers, as major.minor."""
    (line,) = [line for line in FILE.read_text().splitlines() if line.startswith(_VERSIONS)]
    return [".".join(item.split(".")[:2]) for item in line.removeprefix(_VERSIONS).split()]


def write_fields(fields: list[Field], patch_levels: list[str]) -> None:
    """Write the file. `patch_levels`: the versions that were read, such as `v1.36.3`."""
    head = "# Written by `python -m tests.openapi`. Type, and its fields: name:type of its content@versions, if not all have it."
    owners: dict[str, list[str]] = {}
    for field in sorted(fields, key=lambda item: (item.owner, item.name)):
        owners.setdefault(field.owner, []).append(str(field))
    lines = [head, f"{_VERSIONS} {' '.join(patch_levels)}", *(" ".join([owner, *texts]) for owner, texts in owners.items())]
    FILE.write_text("\n".join(lines) + "\n")


def _parse(owner: str, text: str) -> Field:
    path, _, versions = text.partition("@")
    name, _, kind = path.partition(":")
    return Field(owner, name, kind, tuple(versions.split(",")) if versions else ())
