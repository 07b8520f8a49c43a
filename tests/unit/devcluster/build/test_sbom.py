"""The list of what the image consists of is that of the lock file."""

import json
import re
from typing import Any

import pytest
from cyclonedx.model.bom import Bom

from devcluster.build import sbom, wheels
from nestor import __version__


@pytest.fixture(scope="module")
def text() -> str:
    """The document."""
    return sbom.build_sbom()


@pytest.fixture(scope="module")
def components(text: str) -> dict[str, Any]:
    """Its components by name."""
    return {item["name"]: item for item in json.loads(text)["components"]}


def test_it_names_every_locked_package_with_its_version_and_hashes(components: dict[str, Any]) -> None:
    """Read in another way than the document was made."""
    lock = wheels.LOCK.read_text()
    pinned = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", lock))
    assert len(pinned) > 20
    assert pinned.items() <= {name: item["version"] for name, item in components.items()}.items()
    told = [
        item["content"]
        for component in components.values()
        for reference in component.get("externalReferences", ())
        for item in reference["hashes"]
        if item["alg"] == "SHA-256"
    ]
    assert sorted(told) == sorted(re.findall(r"--hash=sha256:([0-9a-f]+)", lock))
    for name, version in pinned.items():
        assert components[name]["purl"] == f"pkg:pypi/{name.lower()}@{version}"


def test_it_names_the_tools_and_what_their_modules_are_checked_by(components: dict[str, Any]) -> None:
    for name in ("kubectl", "helm"):
        assert components[name]["purl"].startswith("pkg:golang/")
        (check,) = components[name]["properties"]
        assert check["value"].startswith("h1:")


def test_it_says_what_needs_what(text: str) -> None:
    needs = {item["ref"]: item.get("dependsOn", []) for item in json.loads(text)["dependencies"]}
    direct = {re.split(r"[/@]", item)[1] for item in needs["nestor"] if item.startswith("pkg:pypi/")}
    assert {"aiohttp", "kopf", "pydantic"} <= direct
    assert "yarl" not in direct
    (aiohttp,) = [ref for ref in needs if ref.startswith("pkg:pypi/aiohttp@")]
    assert any(ref.startswith("pkg:pypi/yarl@") for ref in needs[aiohttp])


def test_it_names_no_host_and_is_a_document_that_the_library_reads_again(text: str) -> None:
    content = json.loads(text)
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert content["metadata"]["component"]["version"] == __version__
    del content["$schema"]
    for tool in content["metadata"].get("tools", {}).get("components", ()):
        tool.pop("externalReferences", None)  # the library's own homepage
    assert not re.findall(r"https?://[^\"]+", json.dumps(content))
    read = Bom.from_json(json.loads(text))  # type: ignore[attr-defined]
    assert read is not None
    assert {item.name for item in read.components} == {item["name"] for item in content["components"]}
