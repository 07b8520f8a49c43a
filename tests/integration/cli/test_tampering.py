"""What a tenant writes into the Secret with a job's kubeconfig is neither run nor read by whoever opens that job's cluster."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nestor.clients.cli.exits import Code
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.cli.conftest import JOBS, SECRETS, CommandLine, Object, create, give_cluster, grant

CALLS = {
    "print": ["kubeconfig", "shop"],
    "merge": ["kubeconfig", "shop", "--merge"],
    "file": ["kubeconfig", "shop", "--output-file", "{folder}/out.yaml"],
    "exec": ["exec", "shop", "--", "kubectl", "get", "pods"],
    "shell": ["shell", "shop"],
    "logs": ["logs", "shop", "some-pod"],
}
ATTACKS = ("exec", "tokenFile", "auth-provider")


@dataclass
class Trap:
    """A server that notes who connects, a file that a command would leave, and a pipe that blocks whoever reads it."""

    folder: Path
    port: int = 0
    callers: list[str] = field(default_factory=list)

    @property
    def mark(self) -> Path:
        """What the command makes."""
        return self.folder / "was-run"

    @property
    def pipe(self) -> Path:
        """The caller's own secret."""
        return self.folder / "token"

    def build_user(self, attack: str) -> Object:
        """A kubeconfig's user that runs a command, or sends a file."""
        command = {"command": "sh", "args": ["-c", f"touch {self.mark}"]}
        users: dict[str, Object] = {
            "exec": {"exec": command | {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}},
            "tokenFile": {"tokenFile": str(self.pipe)},
            "auth-provider": {
                "auth-provider": {
                    "name": "gcp",
                    "config": {"cmd-path": "sh", "cmd-args": f"-c 'touch {self.mark}'", "expiry": "2001-01-01T00:00:00Z"},
                }
            },
        }
        return users[attack]

    async def note(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody connected."""
        self.callers.append(str(writer.get_extra_info("peername")))
        writer.close()


@pytest.fixture
async def trap(tmp_path: Path) -> AsyncIterator[Trap]:
    """Listening on loopback."""
    result = Trap(tmp_path)
    os.mkfifo(result.pipe)
    async with await asyncio.start_server(result.note, "127.0.0.1", 0) as server:
        result.port = server.sockets[0].getsockname()[1]
        yield result


async def tamper(host: Api, namespace: str, user: Object, server: str | None = None) -> None:
    """As the review did: `kubectl patch secret`, everything else left as it is."""
    secret = await host.get(kinds.SECRET, "shop-kubeconfig", namespace)
    content = json.loads(base64.b64decode(secret["data"]["kubeconfig"]))
    content["users"][0]["user"] = user
    content["clusters"][0]["cluster"] = {"server": server} if server else content["clusters"][0]["cluster"]
    encoded = base64.b64encode(json.dumps(content).encode()).decode()
    await host.patch(kinds.SECRET, "shop-kubeconfig", namespace, {"data": {"kubeconfig": encoded}})


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("attack", ATTACKS)
async def test_nothing_of_a_tampered_secret_is_run_read_or_written(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, trap: Trap, attack: str, call: str
) -> None:
    await give_cluster(host, control_plane, await create(host, cli.namespace))
    await tamper(host, cli.namespace, trap.build_user(attack), f"https://127.0.0.1:{trap.port}")
    # May read neither pods nor logs, so that `logs` goes through the nested cluster.
    await grant(host, "jane", cli.namespace, JOBS, SECRETS)
    mine = trap.folder / "mine"
    mine.write_bytes(control_plane.kubeconfig_of("jane").read_bytes())
    before = mine.read_bytes()

    arguments = [word.format(folder=trap.folder) for word in CALLS[call]]
    ended = await replace(cli, kubeconfig=mine)(*arguments, SHELL="/bin/true")

    assert not trap.mark.exists()
    assert trap.callers == []
    assert mine.read_bytes() == before
    assert not (trap.folder / "out.yaml").exists()
    assert (ended.code, ended.stdout) == (Code.FAILED, "")
    assert f"Secret 'shop-kubeconfig' in namespace '{cli.namespace}' was tampered with" in ended.stderr
    assert f"Nestor never writes `users[0].user.{attack}`" in ended.stderr
    assert f"kubectl delete secret shop-kubeconfig -n {cli.namespace}" in ended.stderr


async def test_only_the_checked_fields_reach_the_users_own_kubeconfig(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, tmp_path: Path
) -> None:
    await give_cluster(host, control_plane, await create(host, cli.namespace))
    secret = await host.get(kinds.SECRET, "shop-kubeconfig", cli.namespace)
    content = json.loads(base64.b64decode(secret["data"]["kubeconfig"]))
    content["users"][0]["name"] = content["contexts"][0]["context"]["user"] = "work"
    content["clusters"][0]["name"] = content["contexts"][0]["name"] = "work"
    encoded = base64.b64encode(json.dumps(content).encode()).decode()
    await host.patch(kinds.SECRET, "shop-kubeconfig", cli.namespace, {"data": {"kubeconfig": encoded}})
    mine = tmp_path / "mine"
    own: Object = json.loads(cli.kubeconfig.read_text())
    for entry in (own["clusters"][0], own["users"][0], own["contexts"][0]):
        entry["name"] = "work"
    own["contexts"][0]["context"] = {"cluster": "work", "user": "work"}
    own["current-context"] = "work"
    mine.write_text(json.dumps(own))
    assert (await cli("kubeconfig", "shop", "--merge", KUBECONFIG=str(mine))).code == Code.OK
    text = (await cli("exec", "shop", "--", "sh", "-c", "cat $KUBECONFIG", KUBECONFIG=str(mine))).stdout
    assert json.loads(text)["users"][0]["name"] == "nestor:admin"
    merged = (await cli("kubeconfig", "shop", KUBECONFIG=str(mine))).stdout
    assert "work" not in merged
