"""The operator's settings, by flags and the environment."""

from __future__ import annotations

import datetime

import pytest

from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns
from nestor.operator.settings import read_settings


@pytest.mark.parametrize(
    ("given", "must"),
    [
        ("--port=http", "NESTOR_PORT or --port must be a whole number"),
        ("--workers=2.5", "NESTOR_WORKERS or --workers must be a whole number"),
        ("--lease-seconds=15s", "NESTOR_LEASE_SECONDS or --lease-seconds must be a number of seconds"),
        ("--force-after=", "NESTOR_FORCE_AFTER or --force-after must be a number of seconds"),
    ],
)
def test_what_is_no_number_ends_the_operator_with_a_clear_message(
    given: str, must: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", given])
    assert must in capsys.readouterr().err


def test_service_ranges_are_given_by_commas() -> None:
    found = read_settings(["--image", "x", "--service-cidr", "10.43.0.0/16, fd43::/112,"])
    assert found.service_cidrs == ("10.43.0.0/16", "fd43::/112")


@pytest.mark.parametrize("text", ["10.0.0.0/80", "10.0.0.5/8", "cluster"])
def test_a_range_that_is_none_ends_the_operator_with_a_clear_message(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", "--service-cidr", text])
    said = capsys.readouterr().err
    assert "NESTOR_SERVICE_CIDR or --service-cidr must be comma-separated address ranges such as 10.96.0.0/12" in said
    assert text in said


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent", "Never"])
def test_when_its_image_is_pulled(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_settings(["--image=x", f"--image-pull-policy={policy}"]).image_pull_policy == policy
    assert read_settings(["--image=x"]).image_pull_policy == "IfNotPresent"
    with pytest.raises(SystemExit):
        read_settings(["--image=x", "--image-pull-policy=Sometimes"])
    assert "must be one of Always, IfNotPresent, Never" in capsys.readouterr().err


def test_runners_have_the_same_image_unless_another_one_is_named() -> None:
    assert read_settings(["--image=x"]).image_with_tools == "x"
    found = read_settings(["--image=x", "--runner-image=y"])
    assert (found.image, found.image_with_tools) == ("x", "y")


def test_lifetimes_can_be_short_for_tests() -> None:
    usual, short = read_settings(["--image", "x"]), ["--access-seconds", "60", "--admin-seconds", "30", "--server-seconds", "90"]
    assert usual.lifetimes == Lifetimes(datetime.timedelta(days=28), datetime.timedelta(days=7))
    assert usual.server_seconds == 90 * 24 * 3600
    found = read_settings(["--image", "x", *short])
    assert found.lifetimes == Lifetimes(datetime.timedelta(minutes=1), datetime.timedelta(seconds=30))
    assert found.server_seconds == 90


def test_the_images_of_nested_clusters() -> None:
    given = '[{"version": "v1.36", "image": "k3s:36"}]'
    found = read_settings(["--image", "x", "--k3s-versions", given, "--core-dns-image", "dns:1"])
    assert (found.k3s_versions, found.core_dns_image) == ({"v1.36": "k3s:36"}, "dns:1")
    assert read_settings(["--image", "x"]).k3s_versions == {}


@pytest.mark.parametrize("text", ["{", "{}", '["v1.36"]', '[{"version": "v1.36"}]'])
def test_a_version_needs_an_image(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", "--k3s-versions", text])
    assert "NESTOR_K3S_VERSIONS or --k3s-versions must be a JSON list such as" in capsys.readouterr().err


def test_what_admins_say_about_the_pods_of_backends() -> None:
    text = '{"imagePullSecrets": [{"name": "a"}], "nodeSelector": {}, "priorityClassName": "", "tolerations": [{"key": "b"}]}'
    found = read_settings(["--image", "x", "--vnode-pod", text])
    assert found.vnode_pod == {"imagePullSecrets": [{"name": "a"}], "tolerations": [{"key": "b"}]}
    assert read_settings(["--image", "x"]).vnode_pod == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"containers": []}', '{"hostNetwork": true, "tolerations": []}'])
def test_what_they_may_not_say(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", "--vnode-pod", text])
    assert "NESTOR_VNODE_POD or --vnode-pod must be a JSON object with imagePullSecrets" in capsys.readouterr().err


def test_where_the_hosts_dns_listens() -> None:
    assert read_settings(["--image", "x"]).dns == HostDns(("kube-system",), (53,), ())
    empty = '{"namespaces": [], "ports": [], "ranges": []}'
    assert read_settings(["--image", "x", "--dns", empty]).dns == HostDns()
    said = '{"namespaces": ["openshift-dns"], "ports": [53, 5353], "ranges": ["192.0.2.0/24"]}'
    assert read_settings(["--image", "x", "--dns", said]).dns == HostDns(("openshift-dns",), (53, 5353), ("192.0.2.0/24",))


@pytest.mark.parametrize("text", ["{", "[]", '{"port": 53}', '{"ports": [0]}', '{"ports": ["a"]}', '{"ranges": ["x"]}'])
def test_no_policy_is_built_from_nonsense(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", "--dns", text])
    assert "NESTOR_DNS or --dns must be a JSON object with namespaces, ports and ranges" in capsys.readouterr().err


def test_the_host_is_probed_unless_an_admin_says_no(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_settings(["--image", "x"]).network_probe
    assert not read_settings(["--image", "x", "--network-probe", "false"]).network_probe
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", "--network-probe", "maybe"])
    assert "must be true or false" in capsys.readouterr().err


def test_who_works_is_decided_by_a_lease_where_the_chart_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings(["--image", "x"]).lease == ""
    monkeypatch.setenv("NESTOR_LEASE", "nestor-operator")
    monkeypatch.setenv("POD_NAME", "nestor-7d9")
    found = read_settings(["--image", "x"])
    assert (found.lease, found.lease_seconds, found.place) == ("nestor-operator", 15, "nestor-7d9")


def test_kueue_has_no_say_unless_an_admin_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert not read_settings(["--image", "x"]).kueue
    assert read_settings(["--image", "x", "--kueue", "true"]).kueue
    with pytest.raises(SystemExit):
        read_settings(["--image", "x", "--kueue", "yes"])
    assert "NESTOR_KUEUE or --kueue must be true or false" in capsys.readouterr().err


def test_two_processes_that_are_no_pod_have_two_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one place, each would take the other's Lease for its own."""
    monkeypatch.delenv("POD_NAME", raising=False)
    first, second = (read_settings(["--image", "x", "--lease", "x"]).place for _ in range(2))
    assert first != second
    monkeypatch.setenv("POD_NAME", "nestor-7d9")
    first, second = (read_settings(["--image", "x", "--lease", "x"]).place for _ in range(2))
    assert first == second == "nestor-7d9"


def test_settings_come_from_the_environment_and_flags_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTOR_IMAGE", "nestor:1")
    monkeypatch.setenv("NESTOR_SERVICE_CIDR", "10.96.0.0/12, fd00::/108")
    settings = read_settings(["--workers", "3"])
    assert settings.image == "nestor:1"
    assert settings.service_cidrs == ("10.96.0.0/12", "fd00::/108")
    assert settings.workers == 3


def test_the_image_is_required(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NESTOR_IMAGE", raising=False)
    with pytest.raises(SystemExit):
        read_settings([])
    assert "NESTOR_IMAGE" in capsys.readouterr().err
