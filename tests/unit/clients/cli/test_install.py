"""`nestor install`: questions, values, and what it says of the cluster."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from nestor import CHART, IMAGE, __version__
from nestor.clients.cli import session
from nestor.clients.cli.diagnosis import facts
from nestor.clients.cli.diagnosis.facts import Installation
from nestor.clients.cli.exits import Code
from tests.unit.clients.cli.memory import Object, call, server

FOUND = Installation("https://host", "v1.36.3", "default", set(), ingress_classes=[{"metadata": {"name": "nginx"}}])


@pytest.mark.parametrize(
    ("options", "answers", "image", "profile", "expose", "said"),
    [
        ("", "x.test\nnginx\n\n\n", IMAGE, "Tenants", {"domain": "x.test", "ingressClassName": "nginx"}, "no problems found"),
        ("--profile trusted --image a:5/b", "\n\n", "a:5/b", "Trusted", {}, "✓ the cluster at https://host answers"),
        (
            "--domain x.test",
            "nope\n\nevaluation\n",
            IMAGE,
            "Evaluation",
            {"domain": "x.test", "ingressClassName": "nope"},
            "✗ class 'default' names IngressClass 'nope', which does not exist; available: nginx",
        ),
        ("--domain x.test", None, IMAGE, "Tenants", {"domain": "x.test"}, "`nestor install --ingress-class`"),
    ],
)
def test_what_the_options_leave_open_is_asked(
    options: str,
    answers: str | None,
    image: str,
    profile: str,
    expose: Object,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    async def read_installation(_: object) -> Installation:
        return FOUND

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(facts, "read_installation", read_installation)
    monkeypatch.setattr(session, "can_ask", lambda: answers is not None)
    monkeypatch.setattr(session, "list_options", lambda *_: ["--kube-context=here"])
    result = call(monkeypatch, server(), "install", "--dry-run", *options.split(), text=answers)
    assert result.exit_code == Code.OK, result.output
    text, command = result.stdout.partition("nestor-values.yaml:\n")[2].rsplit("\n\n", 1)
    inside = {"profile": profile} | ({"expose": expose} if expose else {})
    assert yaml.safe_load(text) == {"image": {"repository": image}, "defaultClass": inside}
    release = f"helm upgrade --install nestor {CHART} --version {__version__} --namespace nestor-system --create-namespace"
    assert command == f"{release} --values nestor-values.yaml --wait --kube-context=here\n"
    assert said in result.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--profile Tenant", "available: Tenants, Evaluation, Trusted"),
        ("--image registry.test/nestor:0.2.0", "has a tag or digest"),
        ("--image nestor@sha256:0", "has a tag or digest"),
        ("--domain *.apps.test", "without `*.`"),
    ],
)
def test_options_that_helm_would_misread_are_refused(options: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = call(monkeypatch, server(), "install", "--dry-run", *options.split())
    assert (result.exit_code, said in " ".join(result.stderr.split())) == (Code.USAGE, True), result.stderr


MIRROR = {"image": {"repository": "a", "tag": "1"}, "k3s": {"coreDNSImage": "b"}, "defaultClass": {"expose": {"gateway": {}}}}


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (None, "", "helm get values nestor -n own -o yaml > nestor-values.yaml"),
        ("null\n", "", {}),
        (yaml.safe_dump(MIRROR), "", MIRROR),
        (yaml.safe_dump(MIRROR), "--image c", MIRROR | {"image": {"repository": "c", "tag": "1"}}),
        ("defaultClass: x", "--domain y", {"defaultClass": {"expose": {"domain": "y"}}}),
        ("[]", "", "must contain one YAML mapping"),
    ],
)
def test_the_values_of_a_release_are_kept(
    text: str | None, options: str, expected: Object | str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def read_installation(_: object) -> Installation:
        return replace(FOUND, operators=[{"metadata": {"name": "nestor", "namespace": "own"}}])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(facts, "read_installation", read_installation)
    monkeypatch.setattr(session, "list_options", lambda *_: [])
    if text is not None:
        Path("nestor-values.yaml").write_text(text)
    result = call(monkeypatch, server(), "install", "--dry-run", *options.split())
    if isinstance(expected, str):
        assert (result.exit_code, expected in result.stderr) == (Code.USAGE, True), result.stderr
        return
    shown, command = result.stdout.partition("nestor-values.yaml:\n")[2].rsplit("\n\n", 1)
    assert (yaml.safe_load(shown), "--namespace own" in command) == (expected, True)
