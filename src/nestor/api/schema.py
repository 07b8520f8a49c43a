"""Turns a pydantic model into a structural OpenAPI v3 schema for CustomResourceDefinitions: inlined, without unions."""

from typing import Any

from pydantic import TypeAdapter

Schema = dict[str, Any]

_DROPPED = ("title", "$defs", "discriminator", "examples")


def build_schema(model: type) -> Schema:
    """The schema of one model, or of a part that is plain data."""
    whole: Schema = TypeAdapter(model).json_schema(by_alias=True, mode="validation")
    return _convert(whole, whole.get("$defs", {}))


def _convert(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """One schema node with references resolved; keys next to a reference override the target's."""
    node = _resolve(node, definitions)
    result = {key: value for key, value in node.items() if key not in _DROPPED}
    if "properties" in result:
        result["properties"] = {name: _convert(child, definitions) for name, child in result["properties"].items()}
    if "items" in result:
        result["items"] = _convert(result["items"], definitions)
    _convert_additional(result, definitions)
    if "const" in result:
        result["enum"] = [result.pop("const")]
    if result.get("default", ...) is None or result.get("default") == {} or result.get("default") == []:
        # An absent value means the same, and an empty default would be stored in every resource.
        del result["default"]
    if result.get("type") == "integer":
        result.setdefault("format", "int32" if result.get("maximum", 2**31) < 2**31 else "int64")
    return dict(sorted(result.items()))


def _resolve(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """`node` without `$ref`, `allOf` of one, and `anyOf` with null (an optional field is simply not required)."""
    if "x-kubernetes-int-or-string" in node:
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[1]]
        return _resolve(_overlay(target, node, "$ref"), definitions)
    choices = node.get("allOf") or [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
    if not choices:
        return node
    if len(choices) != 1:
        raise TypeError(f"CRD schemas do not support union types: {node}")
    return _resolve(_overlay(choices[0], node, "allOf", "anyOf"), definitions)


def _overlay(target: Schema, node: Schema, *without: str) -> Schema:
    """`target` overridden by the keys of `node`; the CEL rules of both apply."""
    extra = {key: value for key, value in node.items() if key not in without}
    both = target.get("x-kubernetes-validations", []) + extra.get("x-kubernetes-validations", [])
    return target | extra | ({"x-kubernetes-validations": both} if both else {})


def _convert_additional(result: Schema, definitions: dict[str, Schema]) -> None:
    """Maps keep the schema of their values; free-form objects get Kubernetes's own marker."""
    extra = result.pop("additionalProperties", None)
    if result.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(extra, dict):
        result["additionalProperties"] = _convert(extra, definitions)
    elif extra is True:
        result["x-kubernetes-preserve-unknown-fields"] = True
