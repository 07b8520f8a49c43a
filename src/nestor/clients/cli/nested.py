"""A way into a nested cluster from the user's machine: its address if that is reachable, otherwise a kubectl tunnel."""

import asyncio
import contextlib
import json
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

from nestor.api import names
from nestor.api.objects import Object, status_of
from nestor.clients.cli import kubeconfigs
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.session import Session, find_kubectl, list_options
from nestor.clients.cli.view.facts import describe_cluster
from nestor.kube import Api, ApiError

TRY_SECONDS = 2.0
"""A ClusterIP that is not routed does not respond at all."""
TUNNEL_SECONDS = 20.0
POLL_SECONDS = 0.05
SAID_LIMIT = 4096
_FORWARDING = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+)")


@asynccontextmanager
async def reachable(session: Session, job: Object) -> AsyncIterator[Object]:
    """A kubeconfig that works from here, for the length of a `with` block."""
    content = await kubeconfigs.read(session.api, job)
    if await answers(content):
        yield content
        return
    async with tunnel(session, job) as port:
        forwarded = kubeconfigs.with_server(content, f"https://127.0.0.1:{port}")
        if not await answers(forwarded, seconds=TUNNEL_SECONDS):
            name = job["metadata"]["name"]
            raise Failure(f"the cluster of job '{name}' does not respond: {describe_cluster(job)}", Code.NO_ACCESS)
        yield forwarded


@contextmanager
def kubeconfig_file(content: Object) -> Iterator[str]:
    """A temporary file that only the user can read."""
    with tempfile.TemporaryDirectory(prefix="nestor-") as folder:  # of mode 0700
        path = Path(folder) / "kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(content))
        yield str(path)


async def answers(content: Object, *, seconds: float = TRY_SECONDS) -> bool:
    """Whether that API server can be reached from here."""
    try:
        async with asyncio.timeout(seconds):
            async with await Api.from_kubeconfig(content, timeout=seconds) as api:
                await api.request("GET", "/version")
    except (OSError, TimeoutError, ApiError):
        return False
    return True


@asynccontextmanager
async def tunnel(session: Session, job: Object) -> AsyncIterator[int]:
    """`kubectl port-forward` to the nested API server, for the length of a `with` block. Yields the local port."""
    kubectl = find_kubectl("a tunnel to the nested cluster, whose address is not reachable from here,")
    where = str(status_of(job).get("namespace"))
    cluster = names.cluster_name(job["metadata"]["name"], where)
    command = [
        kubectl,
        *list_options(session.context, "--context"),
        "port-forward",
        "--address=127.0.0.1",
        f"--namespace={where}",
        f"service/{names.child(cluster, names.Part.SERVER)}",
        ":443",
    ]
    # Into a file: a pipe that nobody reads would stop the tunnel once it is full.
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is meant for the user's command, not for the tunnel.
        )
        try:
            yield await _read_port(process, output)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def _read_port(process: asyncio.subprocess.Process, output: IO[bytes]) -> int:
    deadline, is_over = time.monotonic() + TUNNEL_SECONDS, False
    while not is_over:
        is_over = process.returncode is not None or time.monotonic() > deadline
        said = os.pread(output.fileno(), SAID_LIMIT, 0)
        if found := _FORWARDING.search(said):
            return int(found[1])
        await asyncio.sleep(POLL_SECONDS)
    raise Failure(
        f"could not open a tunnel to the nested cluster: {said.decode(errors='replace').strip() or 'no output'}",
        Code.NO_ACCESS,
        hint="`nestor doctor` shows whether you have permission to `create` pods/portforward in the job's namespace",
    )
