"""The table of Go components against the modules that it names."""

from devcluster.build import gobuild
from devcluster.build.components import TESTED


def test_every_folder_with_go_tests_has_them_run() -> None:
    having = {path.parent for path in gobuild.MODULES.glob("**/*_test.go")}
    run = [gobuild.MODULES / component.module / folder for component in TESTED for folder in component.tests]
    for folder in having:
        assert any(folder.is_relative_to(place.parent if place.name == "..." else place) for place in run), folder
