"""The nested cluster that the tests run against."""

from __future__ import annotations

import pytest

from devcluster.conformance import scene
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec

DEFAULT = {
    "spec": {"cluster": {"versions": [{"version": "v1.36", "image": "example.com/k3s:1"}]}, "expose": {"domain": "x.example"}}
}


@pytest.mark.parametrize(("name", "level"), [("baseline", "Baseline"), ("privileged", "Privileged")])
def test_class_and_job_are_valid_and_belong_together(name: str, level: str) -> None:
    found = NestedClassSpec.model_validate(scene.build_class(DEFAULT, name)["spec"])
    assert found.namespace.pod_security == level
    assert found.cluster.versions[0].image == "example.com/k3s:1"
    *_, templates, job = scene.build_job(name)
    read = NestedAppJobSpec.model_validate(job["spec"])
    assert read.class_name == scene.build_class(DEFAULT, name)["metadata"]["name"]
    assert scene.HOLDERS in templates["data"]["namespace.yml"]


def test_each_node_is_held_by_a_pod_that_only_it_takes() -> None:
    pods = scene.build_holders(["one", "two"], "pause:1")
    terms = [
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        for pod in pods
    ]
    assert [term[0]["matchExpressions"][0]["values"] for term in terms] == [["one"], ["two"]]
    assert {pod["metadata"]["namespace"] for pod in pods} == {scene.HOLDERS}
