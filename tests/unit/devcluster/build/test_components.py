"""The table of Go components against the modules that it names."""

from __future__ import annotations

import pytest

from devcluster.build import components, gobuild, machine
from devcluster.build.commands import BuildError
from devcluster.build.components import ARGOCD, COMPONENTS, HELM3, METRICS, TAGS, TESTED, VOLUMES, Component

GO_MOD = """module x

go 1.26.0

require k8s.io/kubernetes v1.36.3

require (
	k8s.io/api v0.36.3
	golang.org/x/net v0.1.0 // indirect
)
"""


def test_versions_come_from_go_mod() -> None:
    assert components.required_version(GO_MOD, "k8s.io/kubernetes") == "v1.36.3"
    assert components.required_version(GO_MOD, "golang.org/x/net") == "v0.1.0"
    with pytest.raises(ValueError, match="does not require"):
        components.required_version(GO_MOD, "k8s.io/apis")


def test_linker_flags_name_the_version_and_link_c_statically() -> None:
    variables = {"p.version": "{version}", "p.major": "{major}", "p.minor": "{minor}"}
    flags = components.linker_flags(Component("x", "x", {}, (), "k8s.io/kubernetes", variables, cgo=True), GO_MOD)
    assert "-X p.version=v1.36.3 -X p.major=1 -X p.minor=36" in flags
    assert flags.startswith("-s -w ")
    assert flags.endswith("-extldflags -static")


@pytest.mark.parametrize("component", [*TESTED, ARGOCD, HELM3, METRICS, VOLUMES], ids=lambda component: component.name)
def test_each_component_has_a_module_with_hashes_sources_and_its_version(component: Component) -> None:
    module = gobuild.MODULES / component.module
    go_mod = (module / "go.mod").read_text()
    assert components.linker_flags(component, go_mod)
    if "require" in go_mod:
        assert (module / "go.sum").exists()
    for pattern in component.sources:
        if component.programs and any(package.startswith(".") for package in component.programs.values()):
            assert list(module.glob(pattern)), pattern


def test_the_stand_in_reports_the_version_of_k3s_and_kubernetes_its_own() -> None:
    built = {
        component.name: components.linker_flags(component, GO_MOD)
        for component in COMPONENTS
        if component.name in ("kube", "k3s")
    }
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3+k3s1 " in built["k3s"]
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3 " in built["kube"]


def test_programs_share_the_packages_that_go_compiles() -> None:
    """One module, and the same tags: with another tag or version, a package and all that use it would be compiled again."""
    assert {(component.module, component.tags) for component in (*TESTED, HELM3, METRICS)} == {("kube", TAGS)}


def test_every_folder_with_go_tests_has_them_run() -> None:
    having = {path.parent for path in gobuild.MODULES.glob("**/*_test.go")}
    run = [gobuild.MODULES / component.module / folder for component in TESTED for folder in component.tests]
    for folder in having:
        assert any(folder.is_relative_to(place.parent if place.name == "..." else place) for place in run), folder


def test_go_version_is_read_and_nonsense_is_refused() -> None:
    assert machine.go_version("go version go1.26.8 linux/amd64") == (1, 26)
    with pytest.raises(BuildError, match="holds no version"):
        machine.go_version("gopher")


def test_a_full_disk_is_told_before_the_build(tmp_path: object) -> None:
    with pytest.raises(BuildError, match="must be free at"):
        machine.check_disk(10**9, "to build programs from source")
