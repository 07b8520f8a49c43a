"""Charts, manifests and kustomizations without an AppDef: which one is written for them."""

from pathlib import Path
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.clients.cli import manifests
from nestor.clients.cli.commands import sources
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.offline.check import check_one
from nestor.clients.cli.packages import Package, build_appdef, read_manifest
from tests.unit.clients.cli.test_commands import call

CHART, REPO = "oci://registry.test/charts/web", "https://charts.test"
URL = "https://example.test/v1/install.yaml"
LOCAL: Object = {"type": "kubectl", "server_side": True, "path": "manifest.yaml"}


@pytest.mark.parametrize(
    ("package", "name", "step"),
    [
        (Package(chart=CHART), "web", {"type": "helm", "chart": CHART}),
        (Package("web", REPO, "1.2"), "web", {"type": "helm", "chart": "web", "repo": REPO, "version": "1.2"}),
        (
            Package(CHART, sets=["image.tag=1.10", "image.pull=true", "replicas=3", "a=b", "a.c=d"]),
            "web",
            {"type": "helm", "chart": CHART, "values": {"image": {"tag": "1.10", "pull": True}, "replicas": 3, "a": {"c": "d"}}},
        ),
        (Package("https://charts.test/Web-1.2.tgz"), "web-1-2", {"type": "helm", "chart": "https://charts.test/Web-1.2.tgz"}),
        (Package(manifest=URL), "install", {**LOCAL, "format": "url", "path": URL}),
        (Package(manifest="deploy/all.yml"), "all", LOCAL),
        (Package(manifest="-"), "app", LOCAL),
        (Package(kustomize="/shop/overlays/test/"), "test", LOCAL),
    ],
)
def test_it_has_one_step(package: Package, name: str, step: Object) -> None:
    appdef = build_appdef(package)
    nested = appdef["commands"]["Run"]["nested_kubernetes"]
    assert (package.name, nested["templates"], nested["targets"]) == (name, [{"name": name, **step}], [])
    wishes = Wishes(config_map=None if package.is_remote else "files")
    checked = check_one(manifests.build_job(wishes, appdef=appdef, name=name))
    assert not checked.faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web:80", ("web", 80, "default")),
        ("monitoring/grafana:3000", ("grafana", 3000, "monitoring")),
        ("web", None),
        (":80", None),
    ],
)
def test_targets(text: str, expected: Any) -> None:
    package = Package(manifest=URL, targets=[text, "other:1"])
    if expected is None:
        with pytest.raises(Failure, match="SERVICE:PORT") as caught:
            build_appdef(package)
        assert caught.value.code == Code.USAGE
        return
    first, _ = build_appdef(package)["commands"]["Run"]["nested_kubernetes"]["targets"]
    assert (first["service_name"], first["service_port"], first["service_namespace"]) == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x", "`--set x` must have the form NAME=VALUE"),
        (r"a\.b=1", "a list or a backslash"),
        ("x[0]=1", "a list or a backslash"),
        ("x={a,b}", "a list or a backslash"),
    ],
)
def test_values_that_mean_something_else_to_helm_are_refused(value: str, said: str) -> None:
    with pytest.raises(Failure, match=said):
        build_appdef(Package(chart=CHART, sets=[value]))


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (SECRET, "has a Secret"),
        (f"---\n{SECRET}", "has a Secret"),
        ("kind: List\nitems:\n- kind: Secret\n", "has a Secret"),
        ('{"kind": "Secret"}', "has a Secret"),
        ("apiVersion: nestor.dev/v1alpha1\nkind: NestedAppJob\n", "all.yaml has a resource of Nestor's"),
        ("kind: ConfigMap\ndata:\n  text: |\n    kind: Secret\n", ""),
        ("kind: Gateway\nspec: {refs: [{kind: Secret}]}\n", ""),
    ],
)
def test_a_manifest_with_secrets_or_jobs_is_not_for_a_config_map(tmp_path: Path, text: str, refused: str) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(text)
    if not refused:
        assert read_manifest(Package(manifest=str(path))) == text
        return
    with pytest.raises(Failure, match=refused):
        read_manifest(Package(manifest=str(path)))


def test_a_folder_whose_links_lead_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (tmp_path / "kubeconfig.yaml").write_text("kind: Config\n")
    (folder / "web.yaml").symlink_to(tmp_path / "kubeconfig.yaml")
    with pytest.raises(Failure, match="leads out of"):
        read_manifest(Package(manifest=str(folder)))


@pytest.mark.parametrize(
    "line", ['E1129 08:10:40.178583    6557 run.go:72] "command failed" err="no folder"', "error: no folder"]
)
def test_what_kubectl_complains_about_is_told(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!/bin/sh\necho '{line}' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("KUBECTL", str(kubectl))
    with pytest.raises(Failure, match=r"^kubectl kustomize: no folder$"):
        read_manifest(Package(kustomize="x"))


@pytest.mark.parametrize(
    ("options", "step", "value"),
    [
        ((), {"name": "web", **LOCAL, "render": True}, "Hello"),
        (("--chart", CHART, "--target", "a:1"), {"name": "web", "type": "helm", "chart": CHART}, None),
        (("--chart", "web", "--repo", REPO), {"name": "web", "type": "helm", "chart": "web", "repo": REPO}, None),
        (("--manifest", URL), {"name": "install", **LOCAL, "format": "url", "path": URL}, None),
        (("--manifest", "own.yaml"), {"name": "own", **LOCAL}, None),
    ],
)
def test_a_job_to_begin_with(
    options: tuple[str, ...], step: Object, value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text("kind: ConfigMap\n")
    file = Path("My shop/job.yaml")
    assert "`nestor run -f 'My shop/job.yaml'` runs it" in call("init", "My shop", *options).stderr
    assert "✓ My shop/job.yaml" in call("validate", str(file)).stdout
    job, data = sources.build_job(None, file, manifests.Wishes(), "0")
    nested = job["spec"]["app"]["appDef"]["commands"]["Run"]
    assert (job["metadata"]["name"], nested["nested_kubernetes"]["templates"]) == (step["name"] if options else "my-shop", [step])
    assert nested["parameters"].get("GREETING", {}).get("value") == value
    assert (data is None) == (step["type"] == "helm" or "format" in step)
    assert data is None or data["metadata"]["name"] == manifests.name_templates(job)
    _, other = sources.build_job(None, file, manifests.Wishes(name="other"), "0")
    assert "metadata" not in (other or {})
    text = file.read_text()
    assert "# Services to expose" in text
    again = call("init", "My shop")
    assert (again.exit_code, file.read_text()) == (Code.FAILED, text)
    assert "My shop/job.yaml already exists\nhint: name another folder" in again.stderr


@pytest.mark.parametrize("beside", ["kind: Secret", "kind: ConfigMap\nmetadata: {name: other}", "a"])
def test_beside_a_job_there_are_only_its_templates(beside: str, tmp_path: Path) -> None:
    call("init", str(tmp_path))
    file = tmp_path / "job.yaml"
    file.write_text(f"{file.read_text()}---\n{beside}\n")
    with pytest.raises(Failure, match="nothing else"):
        sources.build_job(None, file, manifests.Wishes(), "0")
