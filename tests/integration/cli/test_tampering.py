"""What a tenant writes into the Secret with a job's kubeconfig is neither run nor read by whoever opens that job's cluster."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nestor.clients.cli.exits import Code
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.cli.conftest import JOBS, SECRETS, CommandLine, create, give_cluster, grant

CALLS = {
    "print": ["kubeconfig", "shop"],
    "merge": ["kubeconfig", "shop", "--merge"],
    "file": ["kubeconfig", "shop", "--output", "{folder}/out.yaml"],
    "exec": ["exec", "shop", "--", "kubectl", "get", "pods"],
    "shell": ["shell", "shop"],
    "logs": ["logs", "shop", "some-pod"],
}


@dataclass
class Trap:
    """A server that notes who connects, and a file that a command would leave."""

    folder: Path
    port: int = 0
    callers: list[str] = field(default_factory=list)

    @property
    def mark(self) -> Path:
        """What the command makes."""
        return self.folder / "was-run"

    async def note(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody connected."""
        self.callers.append(str(writer.get_extra_info("peername")))
        writer.close()


@pytest.fixture
async def trap(tmp_path: Path) -> AsyncIterator[Trap]:
    """Listening on loopback."""
    result = Trap(tmp_path)
    async with await asyncio.start_server(result.note, "127.0.0.1", 0) as server:
        result.port = server.sockets[0].getsockname()[1]
        yield result


async def tamper(host: Api, namespace: str, trap: Trap) -> None:
    """As the review did: `kubectl patch secret`, everything else left as it is."""
    secret = await host.get(kinds.SECRET, "shop-kubeconfig", namespace)
    content = json.loads(base64.b64decode(secret["data"]["kubeconfig"]))
    command = {"command": "sh", "args": ["-c", f"touch {trap.mark}"]}
    version = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    content["users"][0]["user"] = {"exec": command | version}
    content["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{trap.port}"}
    encoded = base64.b64encode(json.dumps(content).encode()).decode()
    await host.patch(kinds.SECRET, "shop-kubeconfig", namespace, {"data": {"kubeconfig": encoded}})


@pytest.mark.parametrize("call", CALLS)
async def test_nothing_of_a_tampered_secret_is_run_read_or_written(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, trap: Trap, call: str
) -> None:
    """Which fields count as tampering, `tests/unit/clients/cli/test_kubeconfigs.py` lists."""
    await give_cluster(host, control_plane, await create(host, cli.namespace))
    await tamper(host, cli.namespace, trap)
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
    assert "Nestor never writes `users[0].user.exec`" in ended.stderr
    assert f"kubectl delete secret shop-kubeconfig -n {cli.namespace}" in ended.stderr
