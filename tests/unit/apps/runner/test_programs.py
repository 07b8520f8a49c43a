"""The commands of steps: helm's, and scripts."""

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from nestor.apps.runner import programs
from nestor.apps.runner.attempt import StepError
from nestor.apps.steps import Step
from nestor.apps.steps.plan import Helm
from nestor.kube import Api, kinds
from tests.fakes.api import MemoryApi


def step(timeout: int = 300, namespace: str | None = None, **fields: Any) -> Step:
    return Step(name="a", type="helm", timeout_seconds=timeout, namespace=namespace, helm=Helm(release="web", **fields))


def command(step: Step, chart: str = "./charts/web", values: list[Path] | None = None) -> str:
    assert step.helm is not None
    return " ".join(programs.build_helm(step, step.helm, chart, values or []))


def test_a_release_is_installed_or_upgraded_and_waited_for() -> None:
    assert command(step()) == (
        "helm upgrade --install web ./charts/web --namespace default --create-namespace --wait --timeout 290s"
    )


def test_every_field_has_its_flag() -> None:
    full = step(60, "apps", repo="https://charts.example.com", version="1.2.3", wait=False, create_namespace=False)
    assert command(full, "web", [Path("/a.yaml"), Path("/b.yaml")]) == (
        "helm upgrade --install web web --namespace apps --repo https://charts.example.com --version 1.2.3 "
        "--values /a.yaml --values /b.yaml --timeout 50s"
    )


@pytest.mark.parametrize(("limit", "own"), [(3600, 3590), (50, 40), (10, 8), (1, 1)])
def test_helm_gives_up_before_the_step_does(limit: int, own: int) -> None:
    assert command(step(limit)).endswith(f" --timeout {own}s")


@pytest.mark.parametrize(
    ("fields", "host"),
    [
        ({"chart": "oci://ghcr.io/org/chart"}, "ghcr.io"),
        ({"chart": "https://example.com/web.tgz"}, "example.com"),
        ({"chart": "web", "repo": "https://charts.example.com/x"}, "charts.example.com"),
    ],
)
def test_the_host_of_a_remote_chart_is_known(fields: dict[str, str], host: str) -> None:
    assert programs.find_chart_host(Helm(release="web", **fields)) == host


async def test_operations_that_were_killed_in_the_middle_are_forgotten() -> None:
    api, made = MemoryApi(), step(namespace="apps")
    revisions = {"v1": ("web", "deployed"), "v2": ("web", "pending-upgrade"), "v3": ("other", "pending-install")}
    for name, (release, status) in revisions.items():
        labels = {"owner": "helm", "name": release, "status": status}
        api.put(kinds.SECRET, {"metadata": {"name": name, "namespace": "apps", "labels": labels}})
    assert made.helm is not None
    assert await programs.forget_pending_releases(cast(Api, api), made, made.helm) == 1
    assert [name for _, _, name in api.objects] == ["v1", "v3"]


def run(content: bytes, folder: Path) -> str:
    command = programs.write_script(content, folder / "script")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (b"#!/bin/bash\necho $BASH_VERSION | wc -w", "1\n"),
        (b"#!/usr/bin/env python3\nprint(1 + 1)", "2\n"),
        (b"#! /bin/sh -e\necho fine", "fine\n"),
        (b"echo no line of its own", "no line of its own\n"),
        (b"\n#!/bin/false\necho a comment", "a comment\n"),
        (b"#!/bin/sh\necho '\xff' | wc -c", "2\n"),
    ],
)
def test_a_script_is_run_by_its_own_first_line_else_by_sh(tmp_path: Path, content: bytes, output: str) -> None:
    assert run(content, tmp_path) == output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#!/usr/local/bin/bash5\n", "names /usr/local/bin/bash5, which the runner's image does not have"),
        (b"#!/opt/bin/sh\n", r"names /opt/bin/sh, which the runner's image does not have; there is (/usr)?/bin/sh"),
        (b"#!\n", "names no program"),
    ],
)
def test_what_would_not_be_started_is_told_before(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(StepError, match=said):
        run(content, tmp_path)


def test_others_cannot_read_it(tmp_path: Path) -> None:
    programs.write_script(b"#!/bin/sh\n", tmp_path / "script")
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o700
