"""What is built by one call of Go, and what is told meanwhile."""

from __future__ import annotations

from devcluster.build import gobuild
from devcluster.build.components import COMPONENTS, HELM3, VOLUMES, Component
from devcluster.progress import Stage


def list_groups(*components: Component) -> list[set[str]]:
    return [{component.name for component in group} for group in gobuild._group(components)]


def test_all_programs_of_a_cluster_are_built_by_one_call_but_the_one_with_c() -> None:
    names = {component.name for component in COMPONENTS}
    assert list_groups(*COMPONENTS) == [names - {"kine"}, {"kine"}]
    assert list_groups(HELM3, VOLUMES) == [{"helm3"}, {"localpath"}]


def test_programs_of_one_call_do_not_have_the_same_name() -> None:
    """Go names them by their packages' last part, all in one folder."""
    packages = [package.rpartition("/")[2] for component in COMPONENTS for package in component.programs.values()]
    assert len(set(packages)) == len(packages)


def test_a_build_tells_how_many_packages_are_left() -> None:
    stage = Stage("Build")
    counted = gobuild.Counted(stage)
    for line in ("go: downloading example.com/x v1.0.0\n", "errors\n", "fmt\n", "example.com/x\n"):
        counted.count(line)
    assert stage.detail == "downloading example.com/x v1.0.0"
    counted.built("errors\n")
    assert stage.detail == "1 of 3 packages"
    counted.built("go: downloading example.com/y v1.0.0\n")
    counted.built("fmt\n")
    assert stage.detail == "2 of 3 packages"
