"""The nested cluster that the tests run against."""

from __future__ import annotations

import pytest

from devcluster.conformance import scene
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec

DEFAULT = {"spec": {"cluster": {"versions": ["v1.36"]}, "expose": {"domain": "x.example"}}}


@pytest.mark.parametrize(("name", "level"), [("baseline", "Baseline"), ("privileged", "Privileged")])
def test_class_and_job_are_valid_and_belong_together(name: str, level: str) -> None:
    found = NestedClassSpec.model_validate(scene.build_class(DEFAULT, name)["spec"])
    assert found.namespace.pod_security == level
    assert found.cluster.nodes == "All"
    assert found.services.node_ports
    assert found.placement is not None
    assert found.placement.runtime_classes.allowed == [scene.build_job(name)[1]["metadata"]["name"]]
    assert found.cluster.versions == ["v1.36"]
    *_, templates, job = scene.build_job(name)
    read = NestedAppJobSpec.model_validate(job["spec"])
    assert read.class_name == scene.build_class(DEFAULT, name)["metadata"]["name"]
    command = job["spec"]["app"]["appDef"]["commands"]["Run"]["nested_kubernetes"]
    assert [step["path"] for step in command["templates"]] == list(templates["data"])
