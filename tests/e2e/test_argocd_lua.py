"""Argo CD's own program gives the verdicts that the unit tests expect: their Lua is another implementation of the language."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from devcluster.build import argocd as builds
from devcluster.build import cache
from devcluster.progress import Console
from nestor.api.objects import Object
from tests import argocd_lua, children
from tests.e2e.conftest import IS_EMBEDDED
from tests.unit.test_argocd import JOBS

pytestmark = [
    pytest.mark.xdist_group("argocd"),
    pytest.mark.skipif(not IS_EMBEDDED, reason="Argo CD is built for the tests in the embedded cluster"),
]
VERSION = "nestor.dev/v1alpha1"


@pytest.fixture(scope="module")
async def settings_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Argo CD's ConfigMap, with Nestor's customizations alone; and its program, built."""
    await asyncio.to_thread(builds.ensure_images, cache.default(), Console())
    found: Object = yaml.safe_load(argocd_lua.FILE.read_text())
    found["metadata"] |= {"namespace": "argocd", "labels": {"app.kubernetes.io/part-of": "argocd"}}
    path = tmp_path_factory.mktemp("argocd") / "argocd-cm.yaml"
    path.write_text(yaml.safe_dump(found))
    return path


async def ask(settings: Path, obj: Object, *question: str) -> str:
    """What Argo CD says of an object."""
    file = settings.with_name(f"{abs(hash(json.dumps(obj)))}.yaml")
    file.write_text(json.dumps({"apiVersion": VERSION, **obj}))
    verb, *rest = question
    command = ("admin", "settings", "resource-overrides", verb, str(file), *rest, "--argocd-cm-path", str(settings))
    async with children.running(str(cache.default().bin / "argocd"), *command, stdout=asyncio.subprocess.PIPE) as process:
        output, _ = await process.communicate()
    return output.decode()


async def test_argo_cd_judges_as_the_unit_tests_expect(settings_file: Path) -> None:
    found = {}
    for name, obj, expected in JOBS:
        said = await ask(settings_file, obj, "health")
        if f"STATUS: {expected}" not in said:
            found[name] = said
    assert found == {}
