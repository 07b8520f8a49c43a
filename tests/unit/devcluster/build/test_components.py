"""The table of Go components against the modules that it names."""

from __future__ import annotations

import pytest

from devcluster.build import components, gobuild
from devcluster.build.components import ARGOCD, HELM3, METRICS, TESTED, VOLUMES, Component

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


def test_every_folder_with_go_tests_has_them_run() -> None:
    having = {path.parent for path in gobuild.MODULES.glob("**/*_test.go")}
    run = [gobuild.MODULES / component.module / folder for component in TESTED for folder in component.tests]
    for folder in having:
        assert any(folder.is_relative_to(place.parent if place.name == "..." else place) for place in run), folder
