"""The nodes: how many, how they differ, how they are joined."""

from pathlib import Path

import pytest

from devcluster.cluster.node import facts, runtime
from devcluster.cluster.paths import Paths


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    """A cluster of two nodes, as far as its files tell."""
    paths = Paths(tmp_path)
    for node in paths.all_nodes():
        node.home.mkdir(parents=True)
    return paths


@pytest.mark.parametrize(
    ("environment", "names"),
    [({}, ["nestor-dev", "nestor-dev-2"]), ({"NODES": ""}, ["nestor-dev", "nestor-dev-2"]), ({"NODES": "1"}, ["nestor-dev"])],
)
def test_how_many_nodes_are_started(environment: dict[str, str], names: list[str]) -> None:
    assert [node.name for node in facts.wanted(environment)] == names


@pytest.mark.parametrize("number", ["0", "3", "-1", "two"])
def test_another_number_of_nodes_is_refused(number: str) -> None:
    with pytest.raises(RuntimeError, match=f"NODES must be 1 or 2, not '{number}'"):
        facts.wanted({"NODES": number})


def test_a_store_that_was_left_in_order_is_kept_and_any_other_is_removed_later(layout: Paths) -> None:
    clean, dirty = layout.all_nodes()
    for node in (clean, dirty):
        (node.containerd / "images").mkdir(parents=True)
    runtime.mark_clean(clean)
    for node in (clean, dirty):
        runtime.prepare(node)
    assert (clean.containerd / "images").exists()
    assert list(dirty.containerd.iterdir()) == []
    assert not clean.containerd_clean.exists()
    (old,) = layout.cache.glob(f"{dirty.containerd.name}{runtime.OLD}*")
    assert (old / "images").exists()
    runtime.remove_old(layout).join(60)
    assert not old.exists()
    assert clean.containerd.exists()
