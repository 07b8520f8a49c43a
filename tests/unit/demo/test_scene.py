"""What the demo of overflow sets up is what the models take, and has room for all parts, but in no single place."""

from __future__ import annotations

import pytest
import yaml

from devcluster.demo import overflow, scene
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.api.quantities import parse_quantity
from nestor.apps.steps.parameters import check
from nestor.apps.steps.render import render

DEFAULT: Object = {"spec": {"cluster": {"versions": ["v1.36"]}}}


def node(name: str, cpu: str) -> Object:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu}}}


NODES = scene.divide([node("first", "4"), node("second", "2"), node("third", "8")])


def test_the_second_node_is_the_pool_and_takes_three_parts() -> None:
    assert scene.Nodes(cluster="first", pool="second", cpu=600) == NODES
    with pytest.raises(ValueError, match="two nodes"):
        scene.divide([node("only", "4")])


def test_all_parts_have_room_but_in_no_single_place() -> None:
    backends = [item["spec"] for item in scene.build_backends("http://10.0.0.1:3000", "eA==", NODES)[1:]]
    assert [item["type"] for item in backends] == ["Kubernetes", "Interlink"]
    room = [int(parse_quantity(item["shapes"][0]["capacity"]["cpu"]) * 1000) // NODES.cpu for item in backends]
    pool = 2000 // NODES.cpu
    assert pool == 3
    assert room == [scene.AT_CLUSTER, scene.AT_PLUGIN]
    assert sum(room) + pool - 1 >= scene.PARTS  # other pods run in the pool as well
    assert pool + max(room) < scene.PARTS  # so each backend gets some


def test_the_documents_are_what_our_models_take() -> None:
    secret, *backends = scene.build_backends("http://10.0.0.1:3000", "eA==", NODES)
    assert secret["data"] == {"kubeconfig": "eA=="}
    for item in backends:
        spec = OverflowBackendSpec.model_validate(item["spec"])
        assert spec.model_dump(by_alias=True, exclude_unset=True) == item["spec"]
    for item in scene.build_classes(DEFAULT, NODES):
        assert NestedClassSpec.model_validate(item["spec"], extra="forbid", by_alias=True, by_name=False)
    (_, second) = scene.build_second_job()
    (_, job) = scene.build_job(yaml.safe_load_all(overflow.EXAMPLE.read_text()), NODES)
    for item in (second, job):
        NestedAppJobSpec.model_validate(item["spec"])
    assert [second["spec"]["className"], job["spec"]["className"]] == [scene.CLUSTER_CLASS, scene.CLASS]
    assert job["spec"]["parameters"] == {"PARTS": scene.PARTS, "CPU": "600m", "SECONDS": scene.SECONDS}


def test_the_job_is_rendered_with_its_size() -> None:
    templates, job = scene.build_job(yaml.safe_load_all(overflow.EXAMPLE.read_text()), NODES)
    (command,) = job["spec"]["app"]["appDef"]["commands"].values()
    known = check(command["parameters"], job["spec"]["parameters"]).values
    parts = yaml.safe_load(render(templates["data"]["parts.yml"], name="parts.yml", parameters=known, facts={}))
    assert (parts["spec"]["completions"], parts["spec"]["parallelism"]) == (scene.PARTS, scene.PARTS)
    (container,) = parts["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"]["cpu"] == "600m"
    assert f"sleep {scene.SECONDS};" in container["command"][-1]
