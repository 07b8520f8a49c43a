"""The CRDs: generated, documented to the last field, and structural as Kubernetes wants them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nestor.api import crd, labels
from nestor.api.crd import RESOURCES, Resource

ROOT = Path(__file__).parents[3]
CLASS_LIMIT = 120
FREE_FORM = {"appDef", "effective", "parameters"}
MAPS = "reserved capacity size maxResources labels nodeSelector requests limits quota matchLabels annotations"


def walk(node: dict[str, Any], name: str, path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each schema node with its field's name and path."""
    yield name, path, node
    for key, child in node.get("properties", {}).items():
        yield from walk(child, key, f"{path}.{key}")
    if "items" in node:
        yield from walk(node["items"], f"{name}[]", f"{path}[]")


def nodes(resource: Resource) -> list[tuple[str, str, dict[str, Any]]]:
    """All schema nodes below spec and status."""
    root = crd.build_crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return [item for part in ("spec", "status") if part in root for item in walk(root[part], part, part)]


def test_an_admin_can_read_a_class_in_one_sitting() -> None:
    """Every field and every group of fields counts, and a list as what its items have."""
    (resource,) = (item for item in RESOURCES if item.kind == "NestedClass")
    fields = [path for name, path, _ in nodes(resource) if path.startswith("spec.") and not name.endswith("[]")]
    assert len(fields) <= CLASS_LIMIT, fields


@pytest.mark.parametrize("folder", ["crds", "charts/nestor/crds"])
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_the_files_are_what_the_models_say(folder: str, resource: Resource) -> None:
    path = ROOT / folder / f"{resource.plural}.yaml"
    assert path.read_text() == crd.render(resource), f"{path} has drifted: run `make crds`"


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_every_field_is_documented_and_typed(resource: Resource) -> None:
    for name, path, node in nodes(resource):
        if name.endswith("[]") and node.get("type") != "object":
            continue
        assert node.get("description", "").strip().endswith((".", "!", "?")), f"{path} has no description that is a sentence"
        assert "type" in node or node.get("x-kubernetes-int-or-string"), f"{path} has no type"


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_nothing_is_unbounded_or_free_form_without_saying_so(resource: Resource) -> None:
    for name, path, node in nodes(resource):
        if node.get("type") == "array":
            assert "maxItems" in node, f"{path} must bound its items"
        if node.get("type") == "string" and "enum" not in node and "format" not in node and not path.endswith("[]"):
            assert "maxLength" in node, f"{path} must bound its length"
        if "additionalProperties" in node:
            assert name in MAPS.split(), f"{path} is a map; prefer a list of named items"
            assert "maxProperties" in node
        if "x-kubernetes-preserve-unknown-fields" in node:
            assert name in FREE_FORM


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_the_schema_is_structural(resource: Resource) -> None:
    text = crd.render(resource)
    for artifact in ("$ref", "$defs", "allOf", "oneOf", "const:", "exclusiveM", "null", "propertyNames"):
        assert artifact not in text
    for _, path, node in nodes(resource):
        assert "anyOf" not in node or node.get("x-kubernetes-int-or-string"), path
        for check in node.get("x-kubernetes-validations", []):
            assert check["message"], path
        defaulted = {key for key, child in node.get("properties", {}).items() if "default" in child}
        assert not defaulted & set(node.get("required", []))


READY = ".status.conditions[?(@.type=='Ready')]"
COLUMNS = {
    "NestedAppJob": {"URL": ".status.url", "Status": f"{READY}.reason", "Queue": ".status.queue.position"},
    "NestedClass": {
        "Access": ".spec.access",
        "Default": ".metadata.annotations." + labels.DEFAULT_CLASS.replace(".", "\\."),
        "Enforced": ".status.conditions[?(@.type=='NetworkEnforced')].status",
    },
    "OverflowBackend": {
        "Type": ".spec.type",
        "Nodes": ".status.readyNodes",
        "Ready": f"{READY}.status",
        "Status": f"{READY}.reason",
    },
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_list_shows_what_its_readers_look_for(kind: str) -> None:
    (resource,) = [item for item in RESOURCES if item.kind == kind]
    columns = crd.build_crd(resource)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert COLUMNS[kind].items() <= {item["name"]: item["jsonPath"] for item in columns if not item.get("priority")}.items()
