"""Both majors of helm that people have make the same of the chart. No API server is asked."""

import asyncio

import pytest
import yaml

from nestor.api.objects import Object
from tests.integration import apiserver
from tests.integration.operator.conftest import ROOT
from tests.integration.operator.test_chart import PORTAL

pytestmark = pytest.mark.slow

CHART = str(ROOT / "charts/nestor")
IMAGE = ("--set", "image.repository=registry.test/nestor")
EVERYTHING = (
    *PORTAL, "--set", "operator.replicas=2", "--set", "operator.cilium=true", "--set", "operator.allowPrivileged=true",
    "--set", "kueue.enabled=true", "--set", "uninstall.jobs=Delete", "--set", "defaultClass.expose.domain=apps.example.com",
    "--set-json", 'imagePullSecrets=["registry"]', "--set-json", 'operator.tolerations=[{"operator":"Exists"}]',
)  # fmt: skip


async def run(helm: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and complaints of one of them."""
    process = await asyncio.create_subprocess_exec(
        str(apiserver.binary(helm)), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, complaints = await process.communicate()
    return process.returncode or 0, output.decode(), complaints.decode()


def read(text: str) -> dict[tuple[str, str, str], Object]:
    """The objects, by kind, namespace and name: helm's majors sort them differently."""
    found = [document for document in yaml.safe_load_all(text) if document]
    keys = [(item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in found]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, found, strict=True))


@pytest.mark.parametrize("values", [IMAGE, EVERYTHING], ids=["defaults", "everything"])
async def test_both_render_the_same(values: tuple[str, ...]) -> None:
    arguments = ("template", "nestor", CHART, "-n", "nestor-system", "--include-crds", "--kube-version", "1.36.0", *values)
    found = [await run(helm, *arguments) for helm in ("helm", "helm3")]
    for code, _, complaints in found:
        assert (code, complaints) == (0, "")
    new, old = (read(output) for _, output, _ in found)
    assert new == old
    assert len(new) > 30


@pytest.mark.parametrize("helm", ["helm", "helm3"])
async def test_neither_has_anything_to_say_against_it(helm: str) -> None:
    code, output, complaints = await run(helm, "lint", "--strict", CHART, *IMAGE)
    assert (code, complaints) == (0, ""), output
    assert "1 chart(s) linted, 0 chart(s) failed" in output
    assert "[WARNING]" not in output


@pytest.mark.parametrize("helm", ["helm", "helm3"])
async def test_both_refuse_what_the_schema_does_not_know(helm: str) -> None:
    code, _, complaints = await run(helm, "template", "nestor", CHART, *IMAGE, "--set", "operator.logLevel=loud")
    assert code != 0
    assert "logLevel" in complaints
    code, _, complaints = await run(helm, "template", "nestor", CHART, *IMAGE, "--set", "operator.replica=2")
    assert code != 0
    assert "replica" in complaints
