"""The operator's settings, by flags and the environment."""

import datetime
from typing import Any

import pytest

from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns
from nestor.operator.settings import Settings, read_settings


def read(*flags: str) -> Settings:
    return read_settings(["--image=x", *flags])


VERSIONS = '[{"version": "v1.36", "image": "k3s:36"}]'
POD = '{"nodeSelector": {}, "priorityClassName": "", "tolerations": [{"key": "b"}]}'
DNS = '{"namespaces": ["openshift-dns"], "ports": [53, 5353], "ranges": ["192.0.2.0/24"]}'
SHORT = Lifetimes(datetime.timedelta(minutes=1), datetime.timedelta(seconds=30))


@pytest.mark.parametrize(
    ("flags", "field", "value", "default"),
    [
        (["--service-cidr=10.43.0.0/16, fd43::/112,"], "service_cidr", ("10.43.0.0/16", "fd43::/112"), ()),
        (["--image-pull-policy=Always"], "image_pull_policy", "Always", "IfNotPresent"),
        (["--image-pull-policy=Never"], "image_pull_policy", "Never", "IfNotPresent"),
        # Runners have the same image unless another one is named.
        (["--runner-image=y"], "image_with_tools", "y", "x"),
        (["--runner-image=y"], "image", "x", "x"),
        # Short for tests.
        (["--access-seconds=60", "--admin-seconds=30"], "lifetimes", SHORT,
         Lifetimes(datetime.timedelta(days=28), datetime.timedelta(days=7))),
        (["--server-seconds=90"], "server_seconds", 90, 90 * 24 * 3600),
        ([f"--k3s-versions={VERSIONS}"], "k3s_versions", {"v1.36": "k3s:36"}, {}),
        ([f"--vnode-pod={POD}"], "vnode_pod", {"tolerations": [{"key": "b"}]}, {}),
        ([f"--dns={DNS}"], "dns", HostDns(("openshift-dns",), (53, 5353), ("192.0.2.0/24",)), HostDns(("kube-system",), (53,))),
        (['--dns={"namespaces": [], "ports": [], "ranges": []}'], "dns", HostDns(), HostDns(("kube-system",), (53,))),
        (["--image-pull-secrets=a, b"], "image_pull_secrets", ("a", "b"), ()),
        (["--network-probe=false"], "network_probe", False, True),
        (["--kueue=true"], "kueue", True, False),
    ],
)  # fmt: skip
def test_what_flags_say(flags: list[str], field: str, value: Any, default: Any) -> None:
    assert getattr(read(*flags), field) == value
    assert getattr(read(), field) == default


@pytest.mark.parametrize(
    ("flag", "values", "must"),
    [
        ("port", ["http"], "`NESTOR_PORT` or `--port` must be an integer"),
        ("workers", ["2.5"], "`NESTOR_WORKERS` or `--workers` must be an integer"),
        ("lease-seconds", ["15s"], "`NESTOR_LEASE_SECONDS` or `--lease-seconds`: input should be a valid number"),
        ("force-after", [""], "`NESTOR_FORCE_AFTER` or `--force-after`: input should be a valid number"),
        ("service-cidr", ["10.0.0.0/80", "10.0.0.5/8", "cluster"], "`NESTOR_SERVICE_CIDR` or `--service-cidr` "),
        ("image-pull-policy", ["Sometimes"], "input should be 'Always', 'IfNotPresent' or 'Never'"),
        ("k3s-versions", ["{}", '["v1.36"]', '[{"version": "v1.36"}]'], "it is no list of objects with `version` and `image`"),
        ("vnode-pod", ["{", "[]", '{"containers": []}', '{"hostNetwork": true}'], "`NESTOR_VNODE_POD` or `--vnode-pod` "),
        (
            "dns",
            ["{", "[]", '{"port": 53}', '{"ports": [0]}', '{"ports": ["a"]}', '{"ranges": ["x"]}'],
            "`NESTOR_DNS` or `--dns` ",
        ),
        ("network-probe", ["maybe"], "`NESTOR_NETWORK_PROBE` or `--network-probe` must be true or false"),
    ],
)
def test_nonsense_ends_the_operator_with_a_clear_message(
    flag: str, values: list[str], must: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in values:
        with pytest.raises(SystemExit):
            read(f"--{flag}={value}")
        said = capsys.readouterr().err
        assert must in said
        assert flag != "service-cidr" or value in said


def test_who_works_is_decided_by_a_lease_where_the_chart_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one place, each of two processes that are no pod would take the other's Lease for its own."""
    monkeypatch.delenv("POD_NAME", raising=False)
    assert read().lease == ""
    assert read("--lease=x").place != read("--lease=x").place
    monkeypatch.setenv("NESTOR_LEASE", "nestor-operator")
    monkeypatch.setenv("POD_NAME", "nestor-7d9")
    found = read()
    assert (found.lease, found.lease_seconds, found.place) == ("nestor-operator", 15, "nestor-7d9")


def test_settings_come_from_the_environment_and_flags_win(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NESTOR_IMAGE", raising=False)
    with pytest.raises(SystemExit):
        read_settings([])
    assert "NESTOR_IMAGE" in capsys.readouterr().err
    monkeypatch.setenv("NESTOR_IMAGE", "nestor:1")
    monkeypatch.setenv("NESTOR_SERVICE_CIDR", "10.96.0.0/12, fd00::/108")
    monkeypatch.setenv("NESTOR_WORKERS", "5")
    settings = read_settings(["--workers", "3"])
    assert (settings.image, settings.service_cidr, settings.workers) == ("nestor:1", ("10.96.0.0/12", "fd00::/108"), 3)
