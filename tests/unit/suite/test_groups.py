"""Tests that share what there is only once run one after the other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
APART = ('pytest.mark.xdist_group("plugin")', "pytest.mark.alone")
USES = ("cluster.plugin(", "plugin: PluginInfo", "place: Place", "link: str")
"""How tests get at the plugin: by itself, or by what `tests.e2e.overflow` makes of it."""


def test_all_that_switch_the_plugin_are_in_its_group() -> None:
    """Its switches are for all who use it: another test's faults would be theirs."""
    (line,) = re.findall(r"^LIFECYCLE := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    beside = [path for path in (ROOT / "tests" / "e2e").rglob("test_*.py") if str(path.relative_to(ROOT)) not in line.split()]
    users = [path for path in beside if any(mark in path.read_text() for mark in USES)]
    assert len(users) > 1
    for path in users:
        assert any(mark in path.read_text() for mark in APART), path.name


def test_what_the_tests_of_a_file_share_is_made_once() -> None:
    """Without a group, each worker that gets one of these tests makes it."""
    for path in (ROOT / "tests" / "e2e").rglob("test_*.py"):
        text = path.read_text()
        assert 'scope="module"' not in text or "xdist_group(" in text or "pytest.mark.alone" in text, path.name
