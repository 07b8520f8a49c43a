"""What Nestor's image consists of, as a CycloneDX document: `python -m devcluster.build.sbom` prints it.

That is the packages of the lock file, and the tools beside them. It names no registry: where a package comes from is a matter of
whoever installs it, and the hashes hold wherever that is. What comes with the image's base is not in it, since no lock says which
versions that has.
"""

import itertools
import os
import re
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from devcluster.build import components, dockerfiles, wheels
from devcluster.build.gobuild import MODULES

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^ +#(?: via |   )(?P<name>[A-Za-z0-9][\w.-]*)(?: \(pyproject\.toml\))?$", re.MULTILINE)
_TOOLS = (("kubectl", components.KUBERNETES), ("helm", components.HELM))
"""Programs of the image that are built from Go modules: name, module."""


@dataclass(frozen=True)
class Pin:
    """A package of a lock file."""

    name: str
    version: str
    hashes: tuple[str, ...]
    """SHA-256 of each file that may be installed: one per platform."""
    needed_by: tuple[str, ...]
    """The packages that require it, the project itself included."""


def read_lock(text: str) -> Iterator[Pin]:
    """The packages of a lock file as uv writes it. Raises `ValueError` for one without hashes."""
    starts = [*(found.start() for found in _PIN.finditer(text)), len(text)]
    for begin, end in itertools.pairwise(starts):
        block = text[begin:end]
        found = _PIN.match(block)
        hashes = tuple(_HASH.findall(block))
        if found is None or not hashes:
            raise ValueError(f"the lock file has no hash for {block.splitlines()[0]}")
        yield Pin(found["name"], found["version"], hashes, tuple(item["name"] for item in _VIA.finditer(block)))


def build_sbom() -> str:
    """The document, as JSON. The same lock gives the same components."""
    lock = wheels.LOCK.read_text()
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_OID, lock))
    name = tomllib.loads(wheels.PYPROJECT.read_text())["project"]["name"]
    version = dockerfiles.nestor_reference().rpartition(":")[2]
    own = Component(name=name, version=version, type=ComponentType.CONTAINER, bom_ref=name)
    bom.metadata.component = own
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        bom.metadata.timestamp = datetime.fromtimestamp(int(epoch), UTC)
    found = {pin: _build_package(pin) for pin in read_lock(lock)}
    tools = [_build_tool(*tool) for tool in _TOOLS]
    for component in (*found.values(), *tools):
        bom.components.add(component)
    needs = {pin.name: [item for other, item in found.items() if pin.name in other.needed_by] for pin in found}
    bom.register_dependency(own, [*(item for pin, item in found.items() if name in pin.needed_by), *tools])
    for pin, component in found.items():
        bom.register_dependency(component, needs[pin.name])
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)


def _build_package(pin: Pin) -> Component:
    url = PackageURL("pypi", name=pin.name.lower().replace("_", "-"), version=pin.version)
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=content) for content in pin.hashes]
    # Any of these files, not all of them: a component's own hashes would be those of one.
    files = ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(str(url)), hashes=hashes)
    return Component(
        name=pin.name, version=pin.version, type=ComponentType.LIBRARY, purl=url, bom_ref=str(url), external_references=[files]
    )


def _build_tool(name: str, module: str) -> Component:
    place = MODULES / "kube"
    version = components.required_version((place / "go.mod").read_text(), module)
    total = re.search(rf"^{re.escape(module)} {re.escape(version)} (h1:\S+)$", (place / "go.sum").read_text(), re.MULTILINE)
    namespace, _, last = module.rpartition("/")
    url = PackageURL("golang", namespace=namespace, name=last, version=version)
    checks = [Property(name="nestor:go.sum", value=total[1])] if total else []
    return Component(name=name, version=version, type=ComponentType.APPLICATION, purl=url, bom_ref=str(url), properties=checks)


if __name__ == "__main__":
    print(build_sbom())
