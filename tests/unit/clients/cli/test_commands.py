"""Commands as users type them, where no cluster is needed: usage, exit codes, what goes where."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from nestor import __version__
from nestor.clients.cli.exits import Code, Failure, explain
from nestor.clients.cli.main import app
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, Unreachable
from tests.unit.clients.cli.memory import parse
from tests.unit.clients.cli.objects import APPDEF, job, nested_class

ROOT = Path(__file__).parents[4]


def call(*arguments: str, text: str | None = None) -> Result:
    """Run a command without a cluster."""
    return CliRunner().invoke(app, list(arguments), input=text, env={"KUBECONFIG": "/does/not/exist", "COLUMNS": "200"})


COMMANDS = ["cluster", *(item.name or "" for item in app.registered_commands if not item.hidden)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert f"nestor {command}" in result.output or f"{command} [OPTIONS]" in result.output


def list_examples(group: Any) -> Iterator[str]:
    for command in group.commands.values():
        yield from (
            list_examples(command) if hasattr(command, "commands") else re.findall(r"^  (nestor .*)", command.help, re.MULTILINE)
        )


EXAMPLES = list(list_examples(typer.main.get_command(app)))


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_in_the_help_are_right_usage(example: str) -> None:
    parse(shlex.split(example.partition(">")[0])[1:])


def test_commands_have_examples_and_their_help_is_wrapped_once() -> None:
    assert len(EXAMPLES) > len(COMMANDS)
    assert "`nestor shell`, which open a tunnel if necessary" in call("kubeconfig", "--help").output


def test_the_overview_names_every_command_and_the_exit_codes() -> None:
    result = call("--help")
    for command in COMMANDS:
        assert f"  {command} " in result.output
    assert "5 timed out" in result.output


CHART = "oci://registry.test/web"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "shop", "-f", "/does/not/exist"),
        ("run", "shop", "--rm", "--detach"),
        ("run", "shop", "--timeout", "soon"),
        ("run", "shop", "--chart", CHART),
        ("run", "--chart", "web", "--manifest", "x.yaml"),
        ("run", "--manifest", "x.yaml", "--set", "a=1"),
        ("run", "--kustomize", ".", "--repo", "https://charts.test"),
        ("run", "--manifest", "x.yaml", "--templates", "x"),
        ("run", "shop", "--target", "web:80"),
        ("run", "--manifest", "x.yaml", "--target", "web"),
        ("status",),
        ("exec", "hello"),
        ("exec", "hello", "kubectl", "-A"),
        ("nonsense",),
        ("list", "-o", "xml"),
        ("kubeconfig", "a", "--merge", "-o", "x"),
        ("logs", "a", "--tail", "-1"),
        ("run", "shop", "--parameter", "x"),
        ("validate", "/does/not/exist"),
        ("init", "--chart", CHART, "--manifest", "x.yaml"),
        ("init", "--target", "web:80"),
        ("init", "--manifest", "x.yaml", "--repo", "https://charts.test"),
        ("dev", ".", "shop", "--target", "web:80"),
        ("dev", ".", "shop", "--class", "batch"),
        ("convert", "/does/not/exist"),
    ],
)
def test_wrong_usage_is_2(arguments: tuple[str, ...]) -> None:
    assert call(*arguments).exit_code == Code.USAGE


@pytest.mark.parametrize("arguments", [("list",), ("run", "shop"), ("doctor",), ("status", "a"), ("apps",)])
def test_no_connection_is_4_and_says_what_to_do(arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == Code.NO_ACCESS
    assert "error: no connection to the cluster" in result.stderr
    assert "hint: choose another cluster with --context or --kubeconfig" in result.stderr
    assert not result.stdout


def test_the_version() -> None:
    assert call("--version").stdout == f"nestor {__version__}\n"


def test_validate_names_file_line_and_field(tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(
        yaml.safe_dump_all([job(), job(name="Shop"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}])
    )
    result = call("validate", str(file))
    assert result.exit_code == Code.FAILED
    lines = result.stdout.splitlines()
    assert lines[0] == f"✓ {file}:1: NestedAppJob 'shop'"
    assert lines[1].endswith("NestedAppJob 'Shop'")
    assert lines[2].startswith("    `metadata.name` must be at most 52 lower-case letters")
    assert lines[-1].endswith("ConfigMap 'x'  not checked: not a Nestor resource")


def test_validate_goes_on_after_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: nestor.dev/v1alpha1\na: [")
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(job()))
    (tmp_path / "chart.yaml").write_text("{{ not yaml }}")
    result = call("validate", str(tmp_path))
    assert result.exit_code == Code.FAILED
    assert "a.yaml: line 3" in result.stdout
    assert "if this is a template" not in result.stdout
    assert "✓" in result.stdout
    assert "chart.yaml" not in result.stdout


def test_the_examples_are_valid_as_a_whole() -> None:
    result = call("validate", str(ROOT / "examples"))
    assert result.exit_code == Code.OK, result.stdout
    lines = result.stdout.splitlines()
    assert len([line for line in lines if line.startswith("✓")]) > 25
    assert not [line for line in lines if line[0] not in "✓○"]
    (template,) = [line for line in lines if "preview.yaml" in line]
    assert "preview.yaml  not checked: a template of a Helm chart; to check what it becomes: helm template " in template
    assert template.endswith("examples/18-preview-per-pull-request/preview | nestor validate -")


def write(folder: Path, contents: dict[str, str]) -> None:
    for name, content in contents.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


TEMPLATE = "apiVersion: nestor.dev/v1alpha1\nkind: NestedAppJob\nmetadata: {name: {{ .Values.name }}}\n"
PATCH = "apiVersion: nestor.dev/v1alpha1\nkind: NestedAppJob\nmetadata: {name: shop}\nspec: {parameters: {SIZE: 3}}\n"


FOLDER = {
    "chart/Chart.yaml": "apiVersion: v2\nname: shop\nhome: https://nestor.dev/x\n",
    "chart/templates/job.yaml": TEMPLATE,
    "chart/templates/whole.yaml": yaml.safe_dump(job(name="whole")),
    "app/AppDef.json": json.dumps(APPDEF),
    "app/templates/web.yaml": "metadata: {annotations: {nestor.dev/gang: a}, name: {{ NAME }}}\n",
    "overlay/kustomization.yaml": yaml.safe_dump(
        {"patches": [{"path": "less/job.yaml"}, {"patch": "- op: remove"}], "patchesStrategicMerge": ["more.yaml"]}
    ),
    "overlay/less/job.yaml": PATCH,
    "overlay/more.yaml": PATCH,
    "values.yaml": "labels: {nestor.dev/gang: a}\n",
    "kinds.yaml": "kind: {labels: {nestor.dev/gang: a}}\n",
}
"""Resources, and what lies beside them."""


def test_validate_leaves_templates_and_patches_of_a_folder_out_and_says_why(tmp_path: Path) -> None:
    write(tmp_path, FOLDER)
    result = call("validate", str(tmp_path))
    assert result.exit_code == Code.OK, result.stdout
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    told = {name.removeprefix(f"{tmp_path}/"): text for _, name, text in lines}
    assert told["chart/templates/job.yaml"].startswith("not checked: a template of a Helm chart; ")
    assert told["app/templates/web.yaml"].startswith("not checked: a template of the application in ")
    assert told["overlay/less/job.yaml"].startswith("not checked: a patch; to check what comes of it: kubectl kustomize ")
    assert told["overlay/less/job.yaml"] == told["overlay/more.yaml"]
    assert told["values.yaml:1:"] == "document  not checked: no resource, because it lacks `apiVersion` or `kind`"
    assert told["chart/Chart.yaml:1:"] == told["kinds.yaml:1:"] == told["values.yaml:1:"]
    assert told["chart/templates/whole.yaml:1:"] == "NestedAppJob 'whole'"
    assert told["app/AppDef.json:1:"].startswith("AppDef")
    assert call("validate", "-q", str(tmp_path)).stdout == ""


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("chart/templates/job.yaml", "job.yaml: a template of a Helm chart; to check what it becomes: helm template "),
        ("overlay/more.yaml", "more.yaml: a patch; to check what comes of it: kubectl kustomize "),
        ("values.yaml", "must have `apiVersion` and `kind`"),
    ],
)
def test_validate_says_of_a_file_that_is_named_why_it_cannot_be_checked(tmp_path: Path, file: str, part: str) -> None:
    write(tmp_path, FOLDER)
    result = call("validate", str(tmp_path / file))
    assert result.exit_code == Code.FAILED
    assert part in result.stdout


@pytest.mark.parametrize("kustomization", ["patches: 1", "patches: [{path: b.yaml"], ids=["no list", "no YAML"])
def test_validate_does_not_leave_out_what_is_meant_to_be_a_resource(tmp_path: Path, kustomization: str) -> None:
    """A fault in a manifest is no reason to take it for something else, and one in a kustomization is not what is looked for."""
    write(
        tmp_path,
        {
            "a.yaml": TEMPLATE,
            "b.yaml": PATCH,
            "c.yaml": "kind: NestedAppJob\nmetadata: {annotations: {nestor.dev/rerun: a}}",
            "d.yaml": "apiVersion: nestor.dev/v1alpha1",
            "kustomization.yaml": kustomization,
        },
    )
    result = call("validate", str(tmp_path))
    assert result.exit_code == Code.FAILED
    lines = [line for line in result.stdout.splitlines() if line.startswith(("✗", "○", "✓"))]
    assert [line[0] for line in lines] == ["✗"] * 4
    assert lines[0].endswith("(if this is a template, its placeholders `{{ … }}` are filled in before it is YAML)")


@pytest.mark.parametrize("content", ["x: 2024-13-45", "x: [", "x: !!python/none", "{[a]: 1}", "x: !!int ''"])
def test_validate_goes_on_where_a_kustomization_cannot_be_read(content: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": yaml.safe_dump(job()), "kustomization.yaml": content})
    result = call("validate", str(tmp_path))
    assert (result.exit_code, result.stdout.startswith("✓")) == (Code.OK, True)


def test_validate_says_when_there_is_nothing_to_check(tmp_path: Path) -> None:
    write(tmp_path, {"map.yaml": "apiVersion: v1\nkind: ConfigMap\n"})
    result = call("validate", str(tmp_path))
    assert (result.exit_code, result.stdout) == (Code.OK, "")
    assert result.stderr == "Nothing to check: there is no resource of Nestor's and no AppDef.\n"


def test_validate_takes_the_default_class_by_name_or_from_a_file(tmp_path: Path) -> None:
    body = job(kubernetesVersion="v1.30")
    body["spec"].pop("className", None)
    big, small = (nested_class(cluster={"versions": ["v1.36"]}) | {"metadata": {"name": name}} for name in ("big", "small"))
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.yaml").write_text(yaml.safe_dump(body))
    (tmp_path / "big.yaml").write_text(yaml.safe_dump(big))
    (tmp_path / "both.yaml").write_text(yaml.safe_dump_all([big, small]))
    jobs, both = str(tmp_path / "jobs"), str(tmp_path / "both.yaml")
    assert call("validate", jobs).exit_code == Code.OK
    for arguments in ((jobs, "--class", str(tmp_path / "big.yaml")), (jobs, both, "--class", "big")):
        result = call("validate", *arguments)
        assert (result.exit_code, "not offered by class 'big'" in result.stdout) == (Code.FAILED, True)
    result = call("validate", jobs, "--class", both)
    assert (result.exit_code, "several NestedClasses" in result.stderr) == (Code.USAGE, True)
    result = call("validate", jobs, "--class", "big")
    assert (result.exit_code, "no valid NestedClass named 'big' in the files; there: none" in result.stderr) == (Code.USAGE, True)
    assert call("validate", jobs, "--class", str(tmp_path / "jobs" / "job.yaml")).exit_code == Code.USAGE


def test_validate_shows_nothing_that_steers_a_terminal() -> None:
    result = call("validate", "-", text=json.dumps(job(name="\x1b[31m")))
    assert "\x1b" not in result.stdout
    assert result.exit_code == Code.FAILED


def test_convert_prints_a_job_that_is_ready_to_apply() -> None:
    result = call("convert", "-", "--image", "registry.test/shop:1", text=json.dumps(APPDEF))
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout) == {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": "shop"},
        "spec": {"app": {"image": "registry.test/shop:1", "appDef": APPDEF}},
    }
    assert call("validate", "-", text=result.stdout).exit_code == 0


def test_convert_prints_an_entry_for_the_catalog_as_json() -> None:
    result = call("convert", "-", "--kind", "app", "--name", "other", "--image", "x", "-o", "json", text=json.dumps(APPDEF))
    assert json.loads(result.stdout)["metadata"] == {"name": "other"}
    assert json.loads(result.stdout)["kind"] == "NestedApp"


def test_convert_refuses_what_the_cluster_would_refuse() -> None:
    bad = APPDEF | {"commands": {"Start": {"nested_kubernetes": {"templates": [{"name": "a", "type": "magic"}]}}}}
    result = call("convert", "-", text=json.dumps(bad))
    assert result.exit_code == Code.FAILED
    assert not result.stdout
    assert "`spec.app.appDef.commands.Start.nested_kubernetes.templates[0].type`" in result.stderr


def test_convert_warns_beside_its_output() -> None:
    result = call("convert", "-", text=json.dumps(APPDEF))
    assert result.exit_code == 0
    assert "specify --image or --templates" in result.stderr
    assert yaml.safe_load(result.stdout)["kind"] == "NestedAppJob"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unreachable("refused"), Code.NO_ACCESS),
        (Forbidden(403, "Forbidden", "no"), Code.NO_ACCESS),
        (ApiError(401, "Unauthorized", "no"), Code.NO_ACCESS),
        (ApiError(500, "", "broken"), Code.NO_ACCESS),
        (NotFound(404, "NotFound", "x", {"name": "x"}), Code.NOT_FOUND),
        (NotFound(404, "NotFound", "page"), Code.FAILED),
        (Conflict(409, "AlreadyExists", "x"), Code.FAILED),
        (Invalid(422, "Invalid", "x"), Code.FAILED),
    ],
)
def test_what_servers_answer_has_an_exit_code(error: ApiError, code: Code) -> None:
    failure = explain(error)
    assert isinstance(failure, Failure)
    assert failure.code == code
    assert failure.message


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "POD_NAMESPACE": "x"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("process", ["operator", "syncer", "runner", "reader"])
def test_processes_do_not_look_at_all_objects_whenever_a_few_are_new(process: str) -> None:
    """Otherwise one large document of a user keeps them busy for ten times as long."""
    start = f"sys.argv = ['nestor', '{process}', '--help']\nwith contextlib.suppress(SystemExit): main()\n"
    found = run_python(f"import contextlib, gc, sys; from nestor.__main__ import main\n{start}print(gc.get_threshold())")
    assert found.stdout.splitlines()[-1] == "(10000, 10, 10)"


def test_without_its_libraries_the_command_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; sys.argv = ['nestor', 'list']; from nestor.__main__ import main; main()"
    found = run_python(code)
    assert found.returncode == Code.USAGE
    assert "pip install 'nestor[cli]'" in found.stderr
