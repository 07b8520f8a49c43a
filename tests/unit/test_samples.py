"""The chart's sample applications: what they install is what the strictest class lets run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from nestor.api.objects import Object
from nestor.apps.runner import guard, rendering
from tests.unit.operator.builders import build_app, build_job, build_policy, resolve

FOLDER = Path(__file__).parents[2] / "charts/nestor/samples"
SAMPLES = sorted(path.name for path in FOLDER.iterdir())
IMAGES = {"docker.io/library/busybox:1.35", "docker.io/library/redis:7.0"}
"""Those that the values name. The first one is enough for hello-world, and for the embedded cluster."""


async def install(sample: str, folder: Path, **parameters: object) -> list[Object]:
    """What its steps apply, in a job that may set parameters."""
    app_def = yaml.safe_load((FOLDER / sample / "appdef.yaml").read_text())
    templates = {"configMapRef": {"name": "files", "namespace": "nestor-system"}}
    entry = build_app(sample, appDef=app_def, templatesFrom=templates, image=None)
    job = build_job(app=None, appRef={"name": sample}, parameters=parameters)
    resolved = resolve(job, {"default": build_policy(images={"allowed": ["docker.io/library"]})}, apps=[entry])
    plan = resolved.build_plan("configmap:x", 0)
    assert not resolved.warnings
    found = []
    for step in plan.steps:
        if step.path:
            source, target = FOLDER / sample / "templates" / step.path, folder / step.path
            files = [rendering.File(str(source), str(target), step.path)]
            await rendering.render(plan, files, folder, 20, guard.Limits()) if step.render else shutil.copy(source, target)
            found += list(yaml.safe_load_all(target.read_text()))
    (exposed,) = resolved.nested.targets
    (service,) = [item for item in found if (item["kind"], item["metadata"]["name"]) == ("Service", exposed.service_name)]
    assert exposed.service_port in [port["port"] for port in service["spec"]["ports"]]
    return found


@pytest.mark.parametrize("sample", SAMPLES)
async def test_its_pods_may_run_where_pod_security_is_restricted(sample: str, tmp_path: Path) -> None:
    made = await install(sample, tmp_path)
    pods = [item["spec"]["template"]["spec"] for item in made if item["kind"] in ("Deployment", "Job")]
    assert pods
    for pod in pods:
        assert {next(iter(volume.keys() - {"name"})) for volume in pod.get("volumes", ())} <= {"configMap", "emptyDir"}
        for container in pod["containers"]:
            assert container["image"] in IMAGES
            assert container["resources"]["limits"].keys() == {"memory"}
            own = container["securityContext"]
            assert (own["runAsNonRoot"], own["allowPrivilegeEscalation"], own["capabilities"]) == (True, False, {"drop": ["ALL"]})
            assert own["seccompProfile"] == {"type": "RuntimeDefault"}


async def test_hello_world_shows_its_greeting_as_text(tmp_path: Path) -> None:
    page, *_ = await install("hello-world", tmp_path, GREETING="Hello <b>there</b>")
    assert "<h1>Hello &lt;b&gt;there&lt;/b&gt;</h1>" in page["data"]["index.html"]
    assert "job <b>hello</b>" in page["data"]["index.html"]


async def test_pi_has_as_many_pods_as_it_is_told(tmp_path: Path) -> None:
    job, *_ = await install("pi", tmp_path, PODS=2)
    assert (job["metadata"]["name"], job["spec"]["completions"], job["spec"]["parallelism"]) == ("estimate-2", 2, 2)


def test_pi_adds_up_what_its_pods_say(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$@" >> calls\n[ "$1" != logs ] || printf "392 500\\n394 500\\n"\n')
    kubectl.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PODS": "2"}
    command = ["sh", str(FOLDER / "pi/templates/collect.sh")]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[0] == "3.14400, by 1000 random points of 2 pods"
    calls = (tmp_path / "calls").read_text()
    assert "wait job/estimate-2 " in calls
    assert "Pi is about 3.14400, by 1000" in calls


def test_artifact_hub_is_shown_one_of_them() -> None:
    chart = yaml.safe_load((FOLDER.parent / "Chart.yaml").read_text())
    job, *_ = yaml.safe_load(chart["annotations"]["artifacthub.io/crdsExamples"])
    assert job["spec"]["appRef"]["name"] in SAMPLES
