"""Names of images, and what the Dockerfile and the local build agree on."""

import re
import subprocess
import tomllib
from pathlib import Path

from devcluster.build import base, wheels
from devcluster.build.cache import REPOSITORY
from devcluster.build.components import COMPONENTS, required_version
from devcluster.build.gobuild import MODULES

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text()


def test_public_and_local_builds_carry_the_same_kubectl_and_helm() -> None:
    modules = {component.name: (MODULES / component.module / "go.mod").read_text() for component in COMPONENTS}
    kubernetes = required_version(modules["kube"], "k8s.io/kubernetes")
    helm = required_version(modules["helm"], "helm.sh/helm/v4").removeprefix("v")
    assert f"ARG KUBECTL_IMAGE=registry.k8s.io/kubectl:{kubernetes}\n" in DOCKERFILE
    assert f"ARG HELM_IMAGE=docker.io/alpine/helm:{helm}\n" in DOCKERFILE


def test_public_and_local_builds_have_the_same_python_and_packages() -> None:
    assert f"ARG BASE=docker.io/library/python:{wheels.PYTHON_VERSION}-slim-{base.SUITE}\n" in DOCKERFILE


def read_stages() -> dict[str, list[str]]:
    """The instructions of each stage; that of the last one, which has no name, is empty."""
    stages: dict[str, list[str]] = {}
    for line in DOCKERFILE.replace("\\\n", " ").splitlines():
        if found := re.match(r"FROM (\S+)(?: AS (\w+))?$", line):
            stages[found[2] or ""] = [line]
        elif stages and line and not line.startswith("#"):
            stages[list(stages)[-1]].append(line)
    return stages


def list_ancestors(stages: dict[str, list[str]], name: str) -> list[str]:
    """A stage, and those that it is made from."""
    base = stages[name][0].split()[1]
    return [name, *(list_ancestors(stages, base) if base in stages else [])]


def test_the_core_is_the_whole_image_without_the_tools() -> None:
    stages = read_stages()
    assert list_ancestors(stages, "core") == ["core", "system"]
    assert list_ancestors(stages, "") == ["", "tools", "commands", "system"]
    assert stages["core"][1:] == stages[""][1:]
    text = " ".join(" ".join(stages[name]) for name in ("core", "system", "packages"))
    for tool in ("kubectl", "helm", "git", "curl", "jq", "apt-get"):
        assert tool not in text
        assert tool not in base.PACKAGES


def test_kubectl_and_helm_are_where_scripts_written_for_kns_call_them(tmp_path: Path) -> None:
    tools = {f"/usr/local/bin/{name}" for name in ("kubectl", "helm")}
    assert set(re.findall(r"^COPY --from=\w+ \S+ (/usr/local/bin/\S+)$", DOCKERFILE, re.MULTILINE)) == tools
    [command] = re.findall(r"^ +(ln -s .*?); \\$", DOCKERFILE, re.MULTILINE)
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    subprocess.run(command.replace(" /usr/bin/", f" {tmp_path}/usr/bin/"), shell=True, check=True)
    links = {link.name: str(link.readlink()) for link in (tmp_path / "usr" / "bin").iterdir()}
    assert links == {"kubectl": "/usr/local/bin/kubectl", "helm": "/usr/local/bin/helm"}


def test_the_dockerfile_installs_the_build_backend_that_pyproject_names() -> None:
    for requirement in tomllib.loads(wheels.PYPROJECT.read_text())["build-system"]["requires"]:
        assert f"'{requirement}'" in DOCKERFILE


def test_only_the_sources_of_the_suite_are_used(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("# deb http://example.invalid bookworm main\n")
    (tmp_path / "sources.list.d" / "debian.sources").write_text("Types: deb\nSuites: bookworm bookworm-updates\n")
    (tmp_path / "sources.list.d" / "other.list").write_text("deb http://example.invalid cloud-bookworm main\n")
    assert [file.name for file in base.apt_sources(tmp_path)] == ["debian.sources"]
