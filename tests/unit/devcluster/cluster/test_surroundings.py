"""Network, mounts, cgroups and the machine's settings, as far as they can be told without root."""

from pathlib import Path

import pytest

from devcluster.cluster import machine, network, paths
from devcluster.cluster.node import mounts
from devcluster.cluster.paths import Paths


def test_the_machine_gets_one_link_with_two_routes_and_no_firewall_rule() -> None:
    commands = [command for command in network.setup_commands(Path("/n")) if command[0] == "ip"]
    assert [command for command in commands if command[1] == "route"] == [
        ["ip", "route", "add", "10.42.0.0/16", "via", "10.40.0.2"],
        ["ip", "route", "add", "10.43.0.0/16", "via", "10.40.0.2"],
    ]
    words = [word for command in network.setup_commands(Path("/n")) for word in command]
    assert not {"iptables", "nft", "default"} & set(words)


@pytest.mark.parametrize(
    ("folders", "hidden"),
    [
        (["/home/user/.cache/nestor", "/src/nestor"], []),
        (["/var/cache/nestor", "/src/nestor"], ["/var/cache/nestor"]),
        (["/var/ci", "/var/ci/cache", "/var/cixx"], ["/var/ci", "/var/cixx"]),
        (["/variable"], []),
    ],
)
def test_folders_that_covering_var_would_hide(folders: list[str], hidden: list[str]) -> None:
    assert mounts.visible_below(Path("/var"), [Path(folder) for folder in folders]) == [Path(folder) for folder in hidden]


@pytest.fixture
def sysctls(tmp_path: Path) -> Path:
    for name in [*machine.AT_LEAST, *machine.CHANGED_BY_KUBELET]:
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("128\n")
    return tmp_path / "sys"


def test_settings_are_raised_and_put_back(tmp_path: Path, sysctls: Path) -> None:
    memory, low = tmp_path / "memory.json", sysctls / "fs/inotify/max_user_instances"
    machine.prepare(memory, sysctls)
    assert low.read_text() == "8192"
    (sysctls / "kernel/panic").write_text("10")  # as the kubelet does
    assert sorted(machine.changed(memory, sysctls)) == [
        "fs/inotify/max_user_instances",
        "fs/inotify/max_user_watches",
        "kernel/panic",
    ]
    machine.restore(memory, sysctls)
    assert low.read_text() == "128"
    assert (sysctls / "kernel/panic").read_text() == "128"
    assert machine.changed(memory, sysctls) == []


def test_a_crashed_cluster_does_not_change_what_is_remembered(tmp_path: Path, sysctls: Path) -> None:
    memory = tmp_path / "memory.json"
    machine.prepare(memory, sysctls)
    machine.prepare(memory, sysctls)  # after a crash: the raised values are there
    machine.restore(memory, sysctls)
    assert (sysctls / "fs/inotify/max_user_instances").read_text() == "128"


@pytest.mark.parametrize(
    ("environment", "root"),
    [({"NESTOR_CACHE": "/c"}, "/c"), ({"XDG_CACHE_HOME": "/x"}, "/x/nestor"), ({"HOME": "/home/u"}, "/home/u/.cache/nestor")],
)
def test_where_the_cache_is(environment: dict[str, str], root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NESTOR_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert paths.default().cache == Path(root)


def test_sockets_fit_the_kernels_limit_in_an_ordinary_cache() -> None:
    layout = Paths(Path("/home/somebody-with-a-long-name/.cache/nestor"))
    sockets = [layout.ingress_socket, layout.control_socket, *(Path(f"{node.socket}.ttrpc") for node in layout.all_nodes())]
    assert max(len(str(path)) for path in sockets) < 108
