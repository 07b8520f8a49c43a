"""`nestor install`: questions, values, and what it says of the cluster."""

from dataclasses import replace

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
        (
            "",
            "x.test\nnginx\n\n\n",
            IMAGE,
            "Tenants",
            {"domain": "x.test", "ingressClassName": "nginx"},
            "✓ network plugin cilium",
        ),
        ("--profile Trusted --image a/b", "\n\n", "a/b", "Trusted", {}, "✓ the cluster at https://host answers"),
        (
            "--domain x.test",
            "nope\n\nEvaluation\n",
            IMAGE,
            "Evaluation",
            {"domain": "x.test", "ingressClassName": "nope"},
            "✗ class 'default' names IngressClass 'nope', which does not exist; available: nginx",
        ),
        ("--domain x.test", None, IMAGE, "Tenants", {"domain": "x.test"}, "! cannot tell whether the network plugin enforces"),
    ],
)
def test_what_the_options_leave_open_is_asked(
    options: str, answers: str | None, image: str, profile: str, expose: Object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_installation(_: object) -> Installation:
        return FOUND if answers is None else replace(FOUND, daemon_sets=[{"metadata": {"name": "cilium"}}])

    monkeypatch.setattr(facts, "read_installation", read_installation)
    monkeypatch.setattr(session, "can_ask", lambda: answers is not None)
    monkeypatch.setattr(session, "list_options", lambda *_: ["--kube-context=here"])
    result = call(monkeypatch, server(), "install", "--dry-run", *options.split(), text=answers)
    assert result.exit_code == Code.OK, result.output
    text, command = result.stdout.partition("nestor-values.yaml:\n")[2].rsplit("\n\n", 1)
    assert yaml.safe_load(text) == {"image": {"repository": image}, "defaultClass": {"profile": profile, "expose": expose}}
    release = f"helm upgrade --install nestor {CHART} --version {__version__} --namespace nestor-system --create-namespace"
    assert command == f"{release} --values nestor-values.yaml --wait --kube-context=here\n"
    assert said in result.stdout
    assert call(monkeypatch, server(), "install", "--dry-run", "--profile", "Tenant", text=answers).exit_code == Code.USAGE
