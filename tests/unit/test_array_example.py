"""The example of an array job: its templates, and its commands and its script, run by this machine's shell."""

import base64
import hashlib
import json
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api.objects import Object
from nestor.apps.steps.parameters import check
from nestor.apps.steps.render import render

FOLDER = Path(__file__).parents[2] / "examples" / "08-array-job"
TEMPLATES, APP = yaml.safe_load_all((FOLDER / "app.yaml").read_text())
JOB = yaml.safe_load((FOLDER / "job.yaml").read_text())
COMMANDS = APP["spec"]["appDef"]["commands"]
COMMAND = COMMANDS[JOB["spec"]["command"]]
STEPS = {step["name"]: step for step in COMMAND["nested_kubernetes"]["templates"]}
GIVEN = JOB["spec"]["parameters"]


def build(template: str, **parameters: Any) -> list[Object]:
    """The objects of a template, with these parameters besides the job's own."""
    known = check(COMMAND["parameters"], GIVEN | parameters).values
    return list(yaml.safe_load_all(render(TEMPLATES["data"][template], name=template, parameters=known, facts={})))


FETCH = yaml.safe_load((FOLDER / "job-from-url.yaml").read_text())["spec"]["parameters"] | {
    "input_url": "https://files.test/$(HOME)"
}


def build_fetching(parts: int, sha256: str) -> Object:
    """The spec of the Job whose pods fetch the file."""
    known = check(COMMANDS["Fetch"]["parameters"], FETCH | {"parts": parts, "input_sha256": sha256}).values
    (job,) = yaml.safe_load_all(render(TEMPLATES["data"]["array.yml"], name="array.yml", parameters=known, facts={}))
    spec: Object = job["spec"]
    return spec


def fetch(folder: Path, spec: Object, content: str, index: int) -> int:
    """Run the container that gets a pod's part of a file; its exit code. Whatever fetches it is a copy here."""
    (container,) = spec["template"]["spec"]["initContainers"]
    (folder / "source").write_text(content)
    (folder / "wget").write_text('#!/bin/sh\n[ "$4" = "https://files.test/\\$(HOME)" ] && cp source "$3"\n')
    (folder / "wget").chmod(stat.S_IRWXU)
    variables = {item["name"]: item["value"].replace("$$", "$") for item in container["env"]}
    variables |= {"JOB_COMPLETION_INDEX": str(index), "PATH": f"{folder}:{os.environ['PATH']}"}
    command = [part.replace("/input/", f"{folder}/") for part in container["command"]]
    return subprocess.run(command, cwd=folder, env=os.environ | variables, check=False).returncode


def read_lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


def test_the_catalog_has_the_files_beside_it() -> None:
    assert TEMPLATES["data"] == {file.name: file.read_text() for file in (FOLDER / "templates").iterdir()}
    reference = APP["spec"]["templatesFrom"]["configMapRef"]
    assert reference == {key: TEMPLATES["metadata"][key] for key in ("name", "namespace")}
    assert JOB["spec"]["appRef"]["name"] == APP["metadata"]["name"]
    assert [step.get("path") for step in STEPS.values() if step["type"] == "kubectl"] == ["array.yml", "merge.yml"]


def test_the_job_that_merges_has_resources_of_its_own() -> None:
    work, merge = [build(file, cpu="2", memory="1Gi")[-1]["spec"]["template"]["spec"] for file in ("array.yml", "merge.yml")]
    assert work["containers"][0]["resources"] == {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    assert merge["containers"][0]["resources"] == {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}


@pytest.mark.parametrize(
    ("count", "size", "parts"), [(0, 5, 0), (1, 5, 1), (5, 5, 1), (6, 5, 2), (10, 5, 2), (11, 5, 3), (1000, 1, 1000), (13, 2, 7)]
)
def test_there_are_as_many_parts_as_the_lines_need(count: int, size: int, parts: int) -> None:
    whole = read_lines(count)
    config, job = build("array.yml", input=whole, items_per_job=size)
    found = config["data"] or {}
    assert (job["spec"]["completions"], job["spec"]["completionMode"]) == (parts, "Indexed")
    assert list(found) == [f"part-{number}" for number in range(parts)]
    assert "".join(found.values()) == whole
    assert all(1 <= text.count("\n") <= size for text in found.values())


@pytest.mark.parametrize("text", ['{"a": "b: c"}', "it's: - #{{ x }}", "%", "a\ttab", "üß"])
def test_lines_stay_what_they_are(text: str) -> None:
    config, _ = build("array.yml", input=f"{text}\n{text}\n", items_per_job=1)
    assert list(config["data"].values()) == [f"{text}\n", f"{text}\n"]


@pytest.mark.parametrize("text", ["echo $(date) $$ $HOME", "awk '{ print $1 }'", 'two\nlines: "x" #'])
def test_commands_reach_the_shell_as_they_are(text: str) -> None:
    """Kubernetes replaces `$(NAME)`, and `$$` by `$`."""
    _, job = build("array.yml", work=text)
    (merge,) = build("merge.yml", merge=text)
    for made in (job, merge):
        (variable,) = made["spec"]["template"]["spec"]["containers"][0]["env"]
        assert variable["value"].replace("$$", "$") == text


@pytest.mark.parametrize(("count", "parts"), [(0, 2), (1, 3), (13, 4), (20_000, 7)])
def test_a_file_is_shared_by_as_many_pods_as_the_job_says(tmp_path: Path, count: int, parts: int) -> None:
    """The largest one has more bytes than a parameter may have."""
    content = read_lines(count).removesuffix("\n")
    spec = build_fetching(parts, hashlib.sha256(content.encode()).hexdigest().upper())
    assert spec["completions"] == parts
    assert spec["template"]["spec"]["volumes"] == [{"name": "input", "emptyDir": {}}]
    assert [fetch(tmp_path, spec, content, index) for index in range(parts)] == [0] * parts
    found = [(tmp_path / f"part-{index}").read_text() for index in range(parts)]
    assert "".join(found).removesuffix("\n") == content
    assert max(text.count("\n") for text in found) == -(-count // parts)


def test_another_file_than_was_meant_ends_the_job(tmp_path: Path) -> None:
    spec = build_fetching(1, "0" * 64)
    code = fetch(tmp_path, spec, "other\n", 0)
    rule = {"action": "FailJob", "onExitCodes": {"containerName": "fetch", "operator": "In", "values": [code]}}
    assert rule in spec["podFailurePolicy"]["rules"]
    assert not (tmp_path / "part-0").exists()


KUBECTL = """#!/bin/bash
set -eu
case "$*" in
  wait*condition=$STATE*) exit 0 ;;
  wait*) exec sleep 60 ;;
  *failedIndexes*) echo 3,5 ;;
  *status.conditions*) echo "SuccessCriteriaMet $STATE" ;;
  'get pods'*) cat "$WORLD/pods" ;;
  *spec.completions*) cat "$WORLD/completions" ;;
  logs*) cat "$WORLD/log-$2" ;;
  'create configmap'*) cp -r collected "$WORLD/$3"; echo "configmap $3" ;;
  apply*) cat ;;
  *) echo "unexpected: $*"; exit 1 ;;
esac
"""


class World:
    """A folder in place of a cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin" / "kubectl").write_text(KUBECTL)
        (folder / "bin" / "kubectl").chmod(stat.S_IRWXU)

    def run_pod(self, job: Object, files: Object, index: int | None) -> str:
        """The log of a pod, run with its ConfigMap's files; its exit code must be 0."""
        (container,) = job["spec"]["template"]["spec"]["containers"]
        place = self.folder / f"pod-{job['metadata']['name']}-{index}"
        (place / "tmp").mkdir(parents=True)
        mount = container["volumeMounts"][0]["mountPath"]
        for name, text in files.items():
            (place / name).write_text(text)
        command = [part.replace("/tmp/", f"{place}/tmp/").replace(f"{mount}/", f"{place}/") for part in container["command"]]
        variables = {item["name"]: item["value"].replace("$$", "$") for item in container["env"]}
        if index is not None:
            variables["JOB_COMPLETION_INDEX"] = str(index)
        return subprocess.run(command, env=os.environ | variables, check=True, capture_output=True, text=True).stdout

    def show_pods(self, logs: Mapping[str, tuple[int | None, str]], completions: int = 0) -> None:
        """Have finished pods with these indexes and logs, of a Job with so many `completions`, or as many as there are pods."""
        (self.folder / "completions").write_text(str(completions or len(logs)))
        for name, (_, log) in logs.items():
            (self.folder / f"log-{name}").write_text(log)
        lines = [f"{name} {'' if index is None else index}\n" for name, (index, _) in logs.items()]
        (self.folder / "pods").write_text("".join(lines))

    def collect(self, step: str, state: str = "Complete") -> subprocess.CompletedProcess[str]:
        """Run the step's script. As in a job, steps share their folder."""
        desk = self.folder / "desk"
        desk.mkdir(exist_ok=True)
        script = desk / "script"
        script.write_bytes(base64.b64decode(STEPS[step]["cmd"]))
        known = {"WORLD": str(self.folder), "STATE": state, "NESTOR_STEP": step}
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", str(script)], cwd=desk, env=os.environ | known | {"PATH": path}, check=False, capture_output=True, text=True
        )

    def read(self, name: str) -> dict[str, str]:
        """A collected ConfigMap."""
        return {file.name: file.read_text() for file in (self.folder / name).iterdir()}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_thirteen_lines_become_thirteen_results(world: World) -> None:
    config, job = build("array.yml")
    logs = {f"work-{index}": (index, world.run_pod(job, config["data"], index)) for index in range(7)}
    world.show_pods(logs)
    done = world.collect("parts")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = world.read("parts")
    assert sorted(parts) == [f"part-{index}" for index in range(7)]
    assert [json.loads(line)["id"] for line in parts["part-1"].splitlines()] == ["3", "4"]

    (merge,) = build("merge.yml")
    world.show_pods({"merge-x": (None, world.run_pod(merge, parts, None))})
    done = world.collect("results")
    assert done.returncode == 0, done.stdout + done.stderr
    (text,) = world.read("results").values()
    assert done.stdout.endswith(f"configmap results\n{text}"), "the step's log keeps it"
    results = [json.loads(line) for line in text.splitlines()]
    assert [item["id"] for item in results] == [str(number) for number in range(1, 14)]
    assert [item["result"] for item in results[:4]] == [324434.0, -318188.0, 0.009719555197301057, 1003454253.0]
    assert [set(item) for item in results] == [{"id", "value1", "value2", "op", "result"}] * 13


@pytest.mark.parametrize("output", ["", "x", "x\n", "x\n\n", "# end\n", "two\nlines"])
def test_a_result_is_byte_for_byte_what_the_command_wrote(world: World, output: str) -> None:
    _, job = build("array.yml", work="cat", input="any", items_per_job=1)
    world.show_pods({"a": (0, world.run_pod(job, {"part-0": output}, 0))})
    assert world.collect("parts").returncode == 0
    assert world.read("parts") == {"part-0": output}


NOT_WHOLE = "the log of pod 'a' is not whole yet"


@pytest.mark.parametrize(
    ("logs", "state", "said"),
    [
        *(({"a": (0, log)}, "Complete", NOT_WHOLE) for log in ("", "half a re", "x\n# end", "x\n\n# en")),
        ({"a": (0, "x\n# end\n"), "b": (2, "y\n# end\n")}, "Complete", "only 2 of 3 pods of Job 'work' are still there"),
        ({}, "Failed", "Job 'work' has failed; failed parts: 3,5"),
    ],
)
def test_parts_that_failed_or_are_not_whole_are_named_and_no_result(
    world: World, logs: dict[str, tuple[int, str]], state: str, said: str
) -> None:
    world.show_pods(logs, completions=3 if "b" in logs else 0)
    done = world.collect("parts", state)
    assert (done.returncode, done.stdout) == (1, f"{said}\n")
    assert not (world.folder / "parts").exists()


def test_a_command_that_fails_says_why_and_is_no_result(world: World) -> None:
    _, job = build("array.yml", work="echo half; echo broken >&2; exit 3", input="any", items_per_job=1)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        world.run_pod(job, {"part-0": "any\n"}, 0)
    assert caught.value.stdout == "broken\n"
