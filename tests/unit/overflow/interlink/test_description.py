"""The description of the protocol, the models, and what is really sent agree."""

import pytest
from pydantic import BaseModel

from nestor.api.objects import Object
from nestor.api.times import now, timestamp
from nestor.overflow.interlink import wire
from nestor.overflow.interlink.build import build_create, build_delete, build_log_request, build_plugin_create, build_question
from nestor.overflow.statuses import ContainerAnswer
from tests.conformance.interlink.description import find_faults, load
from tests.unit.overflow.interlink.full_pod import build_full_pod

META = {"name": "a", "namespace": "a", "uid": "a"}
NOT_SENT = {"jobscriptURL"}
"""Fields that Nestor has no use for."""
OF_CLUSTERS = {"ContainerStatus": {"resources"}}
"""Fields that only backends of the other kind tell."""

MODELS: dict[str, type[BaseModel]] = {
    "Created": wire.Created,
    "PodStatus": wire.PodAnswer,
    "ContainerStatus": ContainerAnswer,
    "Ping": wire.Ping,
    "Resources": wire.Resources,
    "Accelerator": wire.Accelerator,
    "Taint": wire.Taint,
}


@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_fields_of_the_description(name: str) -> None:
    described, model = load()["components"]["schemas"][name], MODELS[name].model_json_schema()
    properties = model["properties"].keys() - OF_CLUSTERS.get(name, set())
    assert properties == described["properties"].keys() - NOT_SENT
    assert set(model.get("required", [])) <= set(described.get("required", []))
    for field in properties:
        wanted, there = _types(described["properties"][field]), _types(model["properties"][field])
        assert not wanted or not there or wanted - {"null"} <= there, field


def test_every_schema_of_an_answer_has_a_model() -> None:
    sent = {"CreateRequest", "PluginCreateRequest", "ContainerData", "LogRequest", "LogOptions", "Pod", "ConfigMap", "Secret"}
    assert load()["components"]["schemas"].keys() - MODELS.keys() == sent


def test_what_is_sent_is_as_described() -> None:
    pod, inputs = build_full_pod()
    request = build_create(pod, inputs)
    options = [("container", "app"), ("tailLines", "0"), ("follow", "true")]
    messages = [
        ("CreateRequest", request),
        ("PluginCreateRequest", build_plugin_create(request)),
        ("LogRequest", build_log_request(pod, options, now())),
        ("Pod", build_question(pod)),
        ("Pod", build_delete(pod, 5, timestamp())),
    ]
    for name, message in messages:
        assert not find_faults({"$ref": f"#/components/schemas/{name}"}, message), name


def test_a_request_is_that_of_one_hop() -> None:
    pod, inputs = build_full_pod()
    request = build_create(pod, inputs)
    (schema,) = [load()["paths"]["/create"]["post"]["requestBody"]["content"]["application/json"]["schema"]]
    for message in (request, build_plugin_create(request)):
        assert not find_faults(schema, message)


@pytest.mark.parametrize(
    ("name", "message", "fault"),
    [
        ("Accelerator", {"resourceType": "nvidia.com/gpu"}, """[]: "available" is a required property"""),
        ("Pod", {"metadata": META, "spec": {"containers": []}}, "['spec', 'containers']: [] has less than 1 item"),
        ("PodStatus", {"UID": "a", "containers": [{"name": "a"}]}, "['containers', 0]: \"state\" is a required property"),
    ],
)
def test_messages_that_are_not_as_described_are_found(name: str, message: Object, fault: str) -> None:
    assert find_faults({"$ref": f"#/components/schemas/{name}"}, message) == [fault]


def _types(schema: Object) -> set[str]:
    kinds = schema.get("type", [])
    found = set(kinds if isinstance(kinds, list) else [kinds])
    for part in schema.get("anyOf", []):
        found |= _types(part)
    return found
