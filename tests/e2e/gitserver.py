"""A Git repository that pods can clone over HTTP, and a list of its pull requests as GitHub's API gives it."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api.objects import Object
from tests import children

_IDENTITY = (
    "-c",
    "user.name=tests",
    "-c",
    "user.email=tests@example.com",
    "-c",
    "init.defaultBranch=main",
    "-c",
    "uploadpack.allowAnySHA1InWant=true",
)
_SERVICE = "git-upload-pack"


@dataclass
class Repository:
    """One repository, as Git's smart protocol serves it."""

    folder: Path
    url: str = ""
    pulls: list[Object] = field(default_factory=list)
    """Open pull requests, as GitHub's API lists them."""

    async def commit(self, files: Mapping[str, str | None], branch: str = "main", start: str = "") -> str:
        """Write these files (None: delete) as the next commit of a branch; its hash. A new branch begins at `start`, or where
        the last commit was made.
        """
        await self._git("checkout", "--quiet", "-B", branch, *filter(None, [start]))
        _write(self.folder, files)
        await self._git("add", "--all")
        await self._git("commit", "--quiet", "--message", "change")
        return (await self._git("rev-parse", "HEAD")).decode().strip()

    async def _git(self, *arguments: str, stdin: bytes = b"", protocol: str = "") -> bytes:
        environment = {**os.environ, "GIT_PROTOCOL": protocol, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        starting = children.running(
            "git", *_IDENTITY, *arguments, cwd=self.folder, env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with starting as process:
            output, _ = await process.communicate(stdin)
        assert process.returncode == 0, f"git {' '.join(arguments)} exited {process.returncode}"
        return output

    async def list_references(self, request: web.Request) -> web.Response:
        """What there is to fetch."""
        if request.query.get("service") != _SERVICE:
            raise web.HTTPForbidden
        protocol = request.headers.get("Git-Protocol", "")
        said = await self._git("upload-pack", "--stateless-rpc", "--advertise-refs", ".", protocol=protocol)
        head = f"# service={_SERVICE}\n"
        return web.Response(
            body=f"{len(head) + 4:04x}{head}0000".encode() + said, content_type=f"application/x-{_SERVICE}-advertisement"
        )

    async def fetch(self, request: web.Request) -> web.Response:
        """What somebody fetches."""
        protocol = request.headers.get("Git-Protocol", "")
        said = await self._git("upload-pack", "--stateless-rpc", ".", stdin=await request.read(), protocol=protocol)
        return web.Response(body=said, content_type=f"application/x-{_SERVICE}-result")

    async def list_pulls(self, _: web.Request) -> web.Response:
        """The open pull requests."""
        return web.json_response(self.pulls)

    def open_pull(self, number: int, branch: str, commit: str, *labels: str) -> None:
        """Have an open pull request of a branch at this commit, with these labels, in the place of one with that number."""
        self.close_pull(number)
        head, base = {"ref": branch, "sha": commit}, {"ref": "main"}
        self.pulls.append(
            {
                "number": number,
                "title": branch,
                "user": {"login": "jane"},
                "state": "open",
                "head": head,
                "base": base,
                "labels": [{"name": label} for label in labels],
            }
        )

    def close_pull(self, number: int) -> None:
        """Close it."""
        self.pulls = [item for item in self.pulls if item["number"] != number]


def _write(folder: Path, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        target = folder / path
        if text is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


@contextlib.asynccontextmanager
async def serving(folder: Path, address: str) -> AsyncIterator[Repository]:
    """An empty repository in this folder, served at this address of the machine."""
    repository = Repository(folder)
    await repository._git("init", "--quiet")
    application = web.Application(client_max_size=2**24)
    application.router.add_get("/tests/preview.git/info/refs", repository.list_references)
    application.router.add_post(f"/tests/preview.git/{_SERVICE}", repository.fetch)
    application.router.add_get("/api/v3/repos/tests/preview/pulls", repository.list_pulls)
    async with TestServer(application, host=address) as found:
        repository.url = str(found.make_url("")).rstrip("/")
        yield repository
