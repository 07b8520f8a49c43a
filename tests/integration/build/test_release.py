"""The files of a release work for whoever downloads them. `make release` also makes the image and the site."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from nestor import __version__
from nestor.kube import Api, kinds
from tests.integration import apiserver

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with those that take seconds."""
    folder = tmp_path_factory.mktemp("release") / "files"
    parts = ("chart", "packages", "single", "schemas", "texts")
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    subprocess.run([sys.executable, "-m", "devcluster.release", folder, *parts], cwd=ROOT, env=environment, check=True)
    return folder


def test_checksums_are_of_all_files(files: Path) -> None:
    lines = [line.split("  ") for line in (files / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in lines}
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files.iterdir() if path.name != "SHA256SUMS"
    }
    krew = yaml.safe_load((files / "krew-nestor.yaml").read_text())
    assert krew["spec"]["version"] == f"v{__version__}"
    for platform in krew["spec"]["platforms"]:
        assert platform["sha256"] == sums[platform["uri"].rpartition("/")[2]]


def test_the_single_file_needs_python_alone(files: Path, tmp_path: Path) -> None:
    """Not even the packages of the machine's own Python; the second start finds what the first one has unpacked."""
    (file,) = files.glob("*.pyz")
    bare = (sys.executable, "-I", "-S", "-E", file)
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run([*bare, "--version"], env=environment, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"nestor {__version__}\n", "")
    assert len(list((tmp_path / "nestor").iterdir())) == 1
    job = ROOT / "examples/01-hello-world/job-from-configmap.yaml"
    done = subprocess.run([*bare, "validate", job], env=environment, capture_output=True, text=True, check=True)
    assert "NestedAppJob 'hello-from-configmap'" in done.stdout


def test_the_wheel_has_what_the_package_has(files: Path, tmp_path: Path) -> None:
    (wheel,) = files.glob("*.whl")
    target = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", "--target", tmp_path)
    subprocess.run([sys.executable, "-m", "pip", "install", *target, wheel], check=True)
    said = {
        path.relative_to(ROOT / "src") for path in (ROOT / "src/nestor").rglob("*") if path.is_file() and path.suffix != ".pyc"
    }
    assert {path for path in said if not (tmp_path / path).is_file()} == set()


async def test_an_api_server_takes_the_manifests(files: Path, control_plane: apiserver.ControlPlane, host: Api) -> None:
    await host.apply(kinds.NAMESPACE, {"metadata": {"name": "nestor-system"}})
    kubectl = (str(apiserver.binary("kubectl")), "--kubeconfig", str(control_plane.kubeconfig))
    for name in ("crds.yaml", "install.yaml"):
        apply = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", str(files / name))
        process = await asyncio.create_subprocess_exec(*kubectl, *apply, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, faults = await process.communicate()
        assert (process.returncode, faults.decode()) == (0, ""), name
    assert "deployment.apps/nestor serverside-applied (server dry run)" in output.decode()


def test_schemas_take_the_examples_and_refuse_what_is_wrong(files: Path) -> None:
    schemas = {path.name.partition(".")[0]: json.loads(path.read_text()) for path in files.glob("*.schema.json")}
    found = {"appdef": [json.loads(path.read_text()) for path in ROOT.glob("examples/*/AppDef.json")]}
    for path in (*ROOT.glob("examples/*/*.yaml"), files / "install.yaml"):
        text = path.read_text()
        for item in yaml.safe_load_all(text) if "apiVersion: nestor.dev/" in text and "{{" not in text else ():
            if str(item["apiVersion"]).startswith("nestor.dev/"):
                found.setdefault(item["kind"].lower(), []).append(item)
    assert found.keys() >= {"appdef", "nestedapp", "nestedappjob", "nestedclass"}
    for kind, items in found.items():
        assert [fault.message for item in items for fault in jsonschema_rs.iter_errors(schemas[kind], item)] == []
    (job, *_) = found["nestedappjob"]
    assert not jsonschema_rs.is_valid(schemas["nestedappjob"], job | {"spec": job["spec"] | {"machin": "n4"}})
