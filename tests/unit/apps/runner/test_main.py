"""The runner's exit codes, as far as they need no API."""

import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from nestor.api.contracts.runner import Exit
from nestor.apps import steps
from nestor.apps.runner import main
from nestor.kube import Api


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(main, "_prepare_process", lambda: None)  # it would limit the tests' own
    monkeypatch.setattr(tempfile, "tempdir", None)  # the runner sets it; put back afterwards
    plan = steps.build_plan({"templates": [{"name": "a", "type": "kubectl", "path": "a.yml"}]}, "image:x")
    (tmp_path / "plan.json").write_text(plan.to_json())
    return [
        f"--plan={tmp_path / 'plan.json'}",
        f"--kubeconfig={tmp_path / 'kubeconfig'}",
        f"--work={tmp_path}",
        f"--templates={tmp_path / 'templates'}",
    ]


def test_a_step_of_a_type_that_another_version_knows_makes_a_bad_plan(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(plan.read_text().replace('"kubectl"', '"teleport"'))
    assert main.main(arguments) == Exit.BAD_PLAN
    assert "step 'a' is of type 'teleport', which this runner does not know" in capsys.readouterr().out


def test_an_unforeseen_error_is_no_failed_step_and_leaves_its_traceback(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(Api, "connect", fail)
    assert main.main(arguments) == Exit.CRASHED
    said = capsys.readouterr().out
    assert "Traceback" in said
    assert "RuntimeError: out of luck" in said


def test_a_kubeconfig_that_is_not_there_is_no_failed_step(arguments: list[str]) -> None:
    assert main.main(arguments) == Exit.CRASHED


def test_a_volume_that_the_host_left_out_is_no_failed_step(arguments: list[str], tmp_path: Path) -> None:
    assert main.main([*arguments, f"--templates={tmp_path / 'app' / 'templates'}"]) == Exit.NO_VOLUME


def test_a_plan_that_cannot_be_read_has_its_own_code(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    assert main.main(arguments) == Exit.BAD_PLAN
